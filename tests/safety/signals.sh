#!/bin/sh
# Interrupts runs with SIGINT and SIGTERM: they end soon, with the status that says so, and leave the target as it was.
# What needs a run to be held at a certain call needs strace, and is skipped and counted without.
# usage: signals.sh PROGRAM MAKE_CHECKPOINT
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

suite=signals
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
# shellcheck source=tests/safety/commands.sh
. "$here/commands.sh"
# shellcheck source=tests/safety/inject.sh
. "$here/inject.sh"
show_files() { find out -ls; }

make_sources
mkdir out
: > err

# A run that waits: the reader of the FIFO takes the first byte and no more.
hang() { # hang SIGNAL...: status
  rm -f fifo
  mkfifo fifo
  { exec < fifo && exec sleep 20; } &
  reader=$!
  env --default-signal=INT,TERM "$program" dcp_to_torch -q ckpt fifo 2> err &
  runner=$!
  sleep 0.5
  for signal in "$@"; do
    kill -s "$signal" $runner 2> /dev/null || break # gone already
    sleep 0.3
  done
  { sleep 5 && kill -KILL $runner; } > /dev/null 2>&1 &
  guard=$!
  status=0
  wait $runner || status=$?
  kill $guard $reader 2> /dev/null || true
  wait $guard $reader 2> /dev/null || true
}

hang INT
check 'SIGINT ends a run whose reader is stalled' [ "$status" -eq 130 ]
hang TERM
check 'SIGTERM ends a run whose reader is stalled' [ "$status" -eq 143 ]

if ! can_trace; then
  echo 'strace is not there, or may not trace: interrupts in the middle of a run are skipped'
  skipped=1
  finish
  exit
fi

# Strace holds the process at its second write for a while; the signal comes then.
interrupt() { # interrupt SIGNAL
  prepare
  rm -f pid
  status=0
  start strace -f -qq -o trace -e trace=pwrite64 -e inject=pwrite64:delay_enter=1500000:when=2 \
    env --default-signal=INT,TERM sh -c 'echo $$ > pid; exec "$@"' sh "$program" 2> err &
  runner=$!
  tries=0
  while [ $tries -lt 100 ] && [ -z "$(left_over)" ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  sleep 0.3
  kill -s "$1" "$(cat pid)"
  wait $runner || status=$?
}

for command in dcp_to_torch reshard; do
  make_good "$command"
  for force in $(forces_of "$command"); do
    select_command "$command" "$force"
    for signal in INT:130 TERM:143; do
      interrupt "${signal%:*}"
      check "$about: SIG${signal%:*} ends with ${signal#*:}, not $status" [ "$status" -eq "${signal#*:}" ]
      check "$about: SIG${signal%:*} leaves the target as it was" as_before
      check "$about: SIG${signal%:*} leaves nothing temporary" nothing_left
      start "$program"
      check "$about: a run after SIG${signal%:*} works" is_complete
    done
  done
done
finish
