# shellcheck shell=bash
# A Slurm of its own on this machine, for tests: Debian's munged, slurmctld and slurmd, started by
# hand as the user at hand, with one node of four processors, whatever the machine has. Sourced:
#
#   source tests/slurm.sh
#   trap stop_slurm EXIT
#   start_slurm || exit 77    # says in a line why not
#   srun -n 2 --mpi=pmix ...
#
# Nothing of another Slurm on the machine is touched: folder, sockets and ports are its own.

slurm_folder=

# Ends what start_slurm started, also half of it; what ran under it ends with it.
stop_slurm() {
  local name pid
  [[ -n $slurm_folder ]] || return 0
  if scancel --user "$(id -un)" 2>/dev/null; then
    for _ in {1..100}; do
      [[ -n $(squeue --noheader 2>/dev/null) ]] || break
      sleep 0.1
    done
  fi
  for name in slurmd slurmctld munged; do
    pid=$(cat "$slurm_folder/$name.pid" 2>/dev/null) || continue
    kill "$pid" 2>/dev/null || continue
    for _ in {1..100}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
  done
  rm -rf "$slurm_folder"
  slurm_folder=
  unset SLURM_CONF
}

# The two ports that follow one another and that nobody listens on.
free_ports() {
  local port
  for port in {16817..17817..2}; do
    (: </dev/tcp/127.0.0.1/"$port" || : </dev/tcp/127.0.0.1/$((port + 1))) 2>/dev/null && continue
    echo "$port"
    return
  done
  return 1
}

# Sets SLURM_CONF. Returns 77 with a line on standard error where Slurm cannot run here; what was
# started by then is for stop_slurm.
start_slurm() {
  local tool port host user
  for tool in munged slurmctld slurmd srun; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null && continue
    echo "skipped: no $tool: apt-get install slurmctld slurmd slurm-client munge" >&2
    return 77
  done
  port=$(free_ports) || {
    echo "skipped: no free ports for Slurm" >&2
    return 77
  }
  host=$(hostname -s)
  user=$(id -un)
  slurm_folder=$(mktemp -d)
  chmod 755 "$slurm_folder"
  mkdir "$slurm_folder"/{state,spool}
  (umask 077 && head -c 64 /dev/urandom >"$slurm_folder/key")
  cat >"$slurm_folder/slurm.conf" <<CONF
ClusterName=steptime
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$slurm_folder/munge.socket
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmdPidFile=$slurm_folder/slurmd.pid
SlurmctldLogFile=$slurm_folder/slurmctld.log
SlurmdLogFile=$slurm_folder/slurmd.log
StateSaveLocation=$slurm_folder/state
SlurmdSpoolDir=$slurm_folder/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=1
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=$host Default=YES
CONF
  export SLURM_CONF=$slurm_folder/slurm.conf
  if ! (
    PATH=$PATH:/usr/sbin
    munged --force --num-threads 2 --key-file "$slurm_folder/key" --socket "$slurm_folder/munge.socket" \
      --pid-file "$slurm_folder/munged.pid" --log-file "$slurm_folder/munged.log" --seed-file "$slurm_folder/seed" &&
      slurmctld && slurmd
  ) >"$slurm_folder/start.log" 2>&1; then
    echo "skipped: Slurm does not start here: $(tail -n 1 "$slurm_folder/start.log")" >&2
    return 77
  fi
  for _ in {1..100}; do
    [[ $(sinfo --noheader --format %t 2>/dev/null) == idle ]] && return
    sleep 0.1
  done
  echo "skipped: Slurm's node does not come up: $(tail -n 1 "$slurm_folder/slurmd.log")" >&2
  return 77
}
