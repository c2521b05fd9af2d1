#!/bin/sh
# Each command that writes, with reads and writes that move half of what was asked and are interrupted now and then:
# the result is the same, byte for byte.
# usage: short_calls.sh PROGRAM MAKE_CHECKPOINT SHORT_CALLS_LIBRARY
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

suite=short_calls
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
# shellcheck source=tests/safety/commands.sh
. "$here/commands.sh"
show_files() { find out -ls; }

shortly() { env LD_PRELOAD="$library" SHORT_CALLS_LOG="$work/log" "$@"; }
# Sums of the log: calls cut, calls interrupted.
sums() { awk '{ cut += $1; interrupted += $2 } END { print cut + 0, interrupted + 0 }' log; }

make_sources
for command in $COMMANDS; do
  make_good "$command"
  rm -f log
  prepare
  status=0
  start shortly "$program" 2> err || status=$?
  check "$command: short calls are no error, not $status" [ "$status" -eq 0 ]
  check "$command: short calls make the same bytes" is_complete
  totals=$(sums)
  check "$command: calls were cut short" [ "${totals% *}" -ge 4 ]
  check "$command: calls were interrupted" [ "${totals#* }" -ge 1 ]
  echo "$command: ${totals% *} calls cut, ${totals#* } interrupted"
done

rm -f log
status=0
shortly "$program" dcp_to_torch -q ckpt - 2> err | cat > stream || status=$?
check 'short writes to a pipe make the same bytes' cmp -s stream good/dcp_to_torch
"$program" inspect --json ckpt > said
shortly "$program" inspect --json ckpt > said.shortly 2> err || true
check 'short calls change no report' cmp -s said said.shortly
status=0
shortly "$program" verify -q --payload ckpt 2> err || status=$?
check 'short calls are no damage' [ "$status" -eq 0 ]
finish
