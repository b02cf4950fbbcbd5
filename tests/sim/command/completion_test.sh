#!/usr/bin/env bash
# Presses Tab in bash and, where it is installed, in zsh: completion_test.sh STEPTIME
set -uo pipefail
steptime=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
fail() {
  echo "$*"
  exit 1
}
touch mine.json

"$steptime" completion bash >steptime.bash
# completed WORD...: what bash offers for the last word.
completed() {
  bash --norc -c 'source steptime.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _steptime; echo "${COMPREPLY[*]}"' _ "$@"
}
[[ $(completed steptime expl) == explain ]] || fail "bash: expl: $(completed steptime expl)"
[[ $(completed steptime run --timeline-w) == --timeline-window ]] || fail "bash: --timeline-w"
[[ $(completed steptime collective --preset dgx-a1) == dgx-a100* ]] || fail "bash: --preset"
[[ $(completed steptime list sched) == schedule ]] || fail "bash: list sched"
# Of a config, files, which bash finds by itself.
[[ -z $(completed steptime run mi) ]] || fail "bash: run mi: $(completed steptime run mi)"
[[ -z $(completed steptime run -o mi) ]] || fail "bash: run -o mi"

command -v zsh >/dev/null || exit 0
mkdir functions
"$steptime" completion zsh >functions/_steptime
cat >.zshrc <<'ZSHRC'
PS1='ready'
setopt no_beep
fpath=($PWD/functions $fpath)
autoload -Uz compinit
compinit -u -D
show() { print -r -- "LINE=$BUFFER="; BUFFER= }
zle -N show
bindkey -e
bindkey '^Xs' show
ZSHRC
zsh -f >log 2>&1 <<'ZSH' || fail "zsh: $(cat log)"
zmodload zsh/zpty
zpty tab "ZDOTDIR=$PWD TERM=dumb zsh -d -i"
zpty -r -m tab ready '*ready*'
# What stands on the line after a Tab.
for typed expected in 'steptime expl' 'steptime explain' \
    'steptime run --timeline-w' 'steptime run --timeline-window' \
    'steptime list sched' 'steptime list schedule' \
    'steptime run mi' 'steptime run mine.json'; do
  zpty -w -n tab "$typed"$'\t\x18s'
  zpty -r -m tab found '*LINE=*=*'
  [[ $found == *"LINE=$expected"* ]] || { print -r -- "$typed: $found"; exit 1 }
done
ZSH
