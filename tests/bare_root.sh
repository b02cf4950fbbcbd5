# shellcheck shell=bash
# Bare Debian 12 roots, in which nothing hides that a package is missing. Sourced by tests.

# bare_root FOLDER: makes one there, with this machine's apt sources. Returns 77 where none can be made.
bare_root() {
  ((EUID == 0)) && command -v debootstrap >/dev/null || return 77
  debootstrap --variant=minbase bookworm "$1" >"$1.log" 2>&1 || return 77
  rm -rf "$1"/etc/apt/sources.list*
  cp -rL /etc/apt/sources.list* /etc/apt/trusted.gpg* "$1/etc/apt/"
  cp -rLn /usr/share/keyrings "$1/usr/share/"
  # Proxies, and how old a mirror may be.
  apt-config dump Acquire >"$1/etc/apt/apt.conf.d/99machine"
  cp -L /etc/resolv.conf "$1/etc/"
}

# in_root FOLDER COMMAND: bash runs the command as root's first one in there. Of the environment it
# sees proxies and JOBS.
in_root() {
  local -a kept
  mapfile -t kept < <(env | grep -iE '^([a-z]+_proxy|JOBS)=')
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount -t devpts devpts "$1/dev/pts" &&
      mount -t tmpfs tmpfs "$1/dev/shm" && exec chroot "$@"' _ "$1" /usr/bin/env -i HOME=/root \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${kept[@]}" bash -c "$2"
}
