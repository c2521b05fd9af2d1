#!/bin/sh
# Kills each command that writes at every system call that changes something, and fails each of those calls. Whatever
# happens, the target is absent, what it was before, or complete; a half directory has no metadata; and sources are
# only read. Needs strace; without it, or where tracing is not allowed, all is skipped and counted.
# usage: output_safety.sh PROGRAM MAKE_CHECKPOINT [COMMAND...]
#   DCPCTL_LONG=1  all kinds of errors at all calls of all commands, those that read included
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

suite=safety
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
# shellcheck source=tests/safety/commands.sh
. "$here/commands.sh"
# shellcheck source=tests/safety/inject.sh
. "$here/inject.sh"
# shellcheck disable=SC2034  # for `start`
quiet=
show_files() { find out -ls; }

# Calls with which something comes to be under its final name. The program may use any of each kind.
PUBLISH_CALLS='fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat rmdir'
WRITE_CALLS="mkdir mkdirat openat ftruncate fallocate pwrite64 pwritev copy_file_range ioctl sync_file_range $PUBLISH_CALLS"
# Calls with which sources are looked at.
READ_CALLS='openat2 pread64 getdents64'
LEAST_KILLS=8 # of one command; there are more

if ! can_trace; then
  echo 'strace is not there, or may not trace: kills and faults are skipped'
  skipped=1
  finish
  exit
fi

killed() { # killed CALL NUMBER
  inject "$1" "signal=KILL:when=$2"
  reached || return 0
  kills=$((kills + 1))
  check "$about: killed at $1 $2 leaves all or nothing" whole_or_as_before
  check "$about: killed at $1 $2 leaves one temporary thing at most" at_most_one_left
  check "$about: killed at $1 $2 leaves no half checkpoint" no_half_checkpoint
}

# After a fault: done after all, or status 3 with a message, and the target as before. Only when the sync of the
# folder fails is the target there nevertheless. To verify, what cannot be read is damage.
ended_well() {
  case $status in
    0) is_complete ;;
    1) [ "$command" = manifest ] && grep -q 'error: ' said && as_before ;;
    3) grep -q 'error: ' err && whole_or_as_before ;;
    *) false ;;
  esac
}

# What was replaced may be left: when it cannot be removed, and when nobody knows whether it really was replaced. Both
# are said.
left_for_a_reason() { grep -qE 'was replaced, and is still there: |what it replaced is now ' err; }
failed_or_left() { [ "$status" -ne 0 ] || left_for_a_reason; }

faulted() { # faulted CALL NUMBER FAULT
  inject "$1" "error=$3:when=$2"
  reached || return 0
  if grep -q 'loading shared libraries' err; then return 0; fi # not the program's own call
  faults=$((faults + 1))
  check "$about: $3 from $1 $2, status $status" ended_well
  check "$about: $3 from $1 $2 leaves no half checkpoint" no_half_checkpoint
  if ! left_for_a_reason; then check "$about: $3 from $1 $2 leaves nothing temporary" nothing_left; fi
  case $1:$3 in
    pwrite64:EINTR | pread64:EINTR) check "$about: $3 from $1 $2 is tried again" [ $status -eq 0 ] ;;
    openat2:EIO) ;; # repair can do without the data files of the other checkpoint
    getdents64:EIO) check "$about: $3 from $1 $2 is said" failed_or_left ;;
    fsync:EIO | fsync:ENOSPC | fsync:EDQUOT | pwrite64:* | mkdir:* | linkat:E[ID]* | pread64:EIO)
      check "$about: $3 from $1 $2 is an error" [ $status -ne 0 ]
      ;;
  esac
}

# each_point FUNCTION CALLS [FAULT]: for every call of these kinds that a run makes
each_point() {
  for call in $2; do
    for number in $(points "$call"); do
      prepare
      "$1" "$call" "$number" ${3:+"$3"}
    done
  done
}

# tests_of COMMAND: where it is killed and where and how its calls fail; sets kill_calls, fault_calls, errors,
# read_errors. Without much time all errors are for one command, and with --force only what may be different counts.
tests_of() {
  kill_calls=$WRITE_CALLS
  fault_calls=$WRITE_CALLS
  errors='ENOSPC EIO EDQUOT EAGAIN EINTR'
  read_errors='EIO EINTR'
  if [ "${DCPCTL_LONG:-0}" = 1 ]; then return; fi
  if [ -n "$force" ]; then
    kill_calls=$PUBLISH_CALLS
    fault_calls=$PUBLISH_CALLS
    read_errors=
  fi
  case $1 in
    dcp_to_torch) return ;;
    torch_to_dcp | reshard | copy | link | repair) errors='ENOSPC EIO' ;;
    *) errors=EIO ;; # written as one of those is
  esac
  read_errors=
}

make_sources
fingerprint > sources
: > err
all_kills=0
all_faults=0
# shellcheck disable=SC2086  # a list of words
if [ $# -eq 0 ]; then set -- $COMMANDS; fi
for command in "$@"; do
  make_good "$command"
  kills=0
  faults=0
  for force in $(forces_of "$command"); do
    select_command "$command" "$force"
    prepare
    # shellcheck disable=SC2086  # lists of words
    record $WRITE_CALLS $READ_CALLS
    tests_of "$command"
    each_point killed "$kill_calls"
    for error in $errors; do each_point faulted "$fault_calls" "$error"; done
    for error in $read_errors; do each_point faulted "$READ_CALLS" "$error"; done
  done
  check "$command: there were calls to kill at" [ $kills -ge $LEAST_KILLS ]
  echo "$command: $kills kills, $faults faults"
  all_kills=$((all_kills + kills))
  all_faults=$((all_faults + faults))
done
fingerprint > sources.after
check 'sources are what they were' cmp sources sources.after
echo "$all_kills kills, $all_faults faults"
finish
