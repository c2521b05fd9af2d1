#!/bin/sh
# Kills dcp_to_torch at every system call that changes something, fails each of those calls, and interrupts runs
# with signals. Whatever happens, the target is absent, what it was before, or complete, and sources are only
# read. Needs strace; without it, or where tracing is not allowed, all that needs it is skipped and counted.
# usage: output_safety.sh PROGRAM MAKE_CHECKPOINT
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Calls with which a file comes to be under its final name. The program may use any of each kind.
WRITE_CALLS='ftruncate fallocate pwrite64 pwritev copy_file_range sync_file_range fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat'
FAULTS='ENOSPC EIO EDQUOT EAGAIN EINTR'
# Calls with which sources are looked at.
READ_CALLS='openat2 pread64 getdents64'
READ_FAULTS='EIO EINTR'
MOST_CALLS=40 # of one kind, and far more than there are

suite=safety
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
show_files() { find out -ls; }

fingerprint() { (cd ckpt && sha256sum .metadata -- * && stat -c '%n %i %s %y %A' .metadata -- *); }

"$make_checkpoint" ckpt 4
fingerprint > sources
mkdir out
: > err

# One thread, so that the calls come in one order.
# shellcheck disable=SC2086  # none or --force
convert() { "$@" dcp_to_torch -q -j 1 --memory 4MiB $force ckpt out/model.pt; }

prepare() { # an empty folder, or one with a file to replace
  rm -rf out
  mkdir out
  if [ -n "$force" ]; then echo old > out/model.pt; fi
}

no_temporary_files() { [ -z "$(find out -mindepth 1 ! -name model.pt)" ]; }
at_most_one_temporary_file() { [ "$(find out -mindepth 1 ! -name model.pt | wc -l)" -le 1 ]; }
is_complete() { cmp -s out/model.pt good.pt; }
as_before() {
  if [ -n "$force" ]; then [ "$(cat out/model.pt)" = old ]; else [ ! -e out/model.pt ]; fi
}
whole_or_as_before() { is_complete || as_before; }

force=
convert "$program"
mv out/model.pt good.pt
status=0

# ------------------------------------------------------------------ signals, without strace

# A run that waits: the reader of the FIFO takes the first byte and no more.
hang() { # hang SIGNAL...: status and seconds
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

prepare
hang INT
check 'SIGINT ends a run whose reader is stalled' [ "$status" -eq 130 ]
hang TERM
check 'SIGTERM ends a run whose reader is stalled' [ "$status" -eq 143 ]

# ------------------------------------------------------------------ with strace

if ! strace -o /dev/null true 2> /dev/null; then
  echo 'strace is not there, or may not trace: skipped kills, faults, interrupts, read-only sources'
  skipped=4
  finish
  exit
fi

# inject CALL WHAT: converts under strace, with WHAT done to CALL; sets status and err. Not with --seccomp-bpf: that
# delivers no signals.
inject() {
  status=0
  # In braces, so that "Killed", which the shell says, goes to the file as well.
  { convert strace -f -q -o trace -e trace="$1" -e inject="$1:$2" "$program"; } 2> err || status=$?
}

# Whether the last run came to that call: strace marks what it changed.
reached() { grep -qE 'INJECTED|killed by' trace; }

# each_call FUNCTION CALL...: for every call of these kinds that a run makes.
each_call() {
  function=$1
  shift
  for call in "$@"; do
    n=1
    while [ $n -le $MOST_CALLS ]; do
      prepare
      "$function" "$call" $n
      reached || break
      n=$((n + 1))
    done
  done
}

killed() {
  inject "$1" "signal=KILL:when=$2"
  reached || return 0
  kills=$((kills + 1))
  check "${force:-new file}: killed at $1 $2" whole_or_as_before
  check "${force:-new file}: killed at $1 $2 leaves one temporary file at most" at_most_one_temporary_file
}

# After a fault: done after all, or status 3 with a message, and the target as before. Only when the sync of the
# folder fails is the target there nevertheless.
ended_well() {
  case $status in
    0) is_complete ;;
    3) grep -q 'error: ' err && whole_or_as_before ;;
    *) false ;;
  esac
}

faulted() {
  inject "$1" "error=$fault:when=$2"
  reached || return 0
  if grep -q 'loading shared libraries' err; then return 0; fi # not the program's own call
  faults=$((faults + 1))
  check "${force:-new file}: $fault from $1 $2, status $status" ended_well
  check "${force:-new file}: $fault from $1 $2 leaves no temporary file" no_temporary_files
  case $1:$fault in
    fsync:EIO | fsync:ENOSPC | fsync:EDQUOT) check "$fault from $1 $2 is not passed over" [ $status -eq 3 ] ;;
    pwrite64:EINTR | pread64:EINTR) check "$fault from $1 $2 is tried again" [ $status -eq 0 ] ;;
    pwrite64:* | pread64:EIO | openat2:EIO | getdents64:EIO) check "$fault from $1 $2 is an error" [ $status -eq 3 ] ;;
  esac
}

kills=0
faults=0
# shellcheck disable=SC2086  # lists of words
for force in '' --force; do
  each_call killed $WRITE_CALLS
  for fault in $FAULTS; do each_call faulted $WRITE_CALLS; done
done
force=
# shellcheck disable=SC2086  # a list of words
for fault in $READ_FAULTS; do each_call faulted $READ_CALLS; done
echo "$kills kills, $faults faults"
check 'there were calls to kill at' [ "$kills" -ge 12 ]

# ------------------------------------------------------------------ signals in the middle of a run

# Strace holds the process at its second write for a while; the signal comes then.
interrupt() { # interrupt SIGNAL
  prepare
  rm -f pid
  status=0
  convert strace -f -qq -o trace -e trace=pwrite64 -e inject=pwrite64:delay_enter=1500000:when=2 \
    env --default-signal=INT,TERM sh -c 'echo $$ > pid; exec "$@"' sh "$program" 2> err &
  runner=$!
  tries=0
  while [ $tries -lt 100 ] && [ -z "$(find out -name '.model.pt.*')" ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  sleep 0.3
  kill -s "$1" "$(cat pid)"
  wait $runner || status=$?
}

for force in '' --force; do
  for signal in INT:130 TERM:143; do
    interrupt "${signal%:*}"
    check "${force:-new file}: SIG${signal%:*} ends with ${signal#*:}, not $status" [ "$status" -eq "${signal#*:}" ]
    check "${force:-new file}: SIG${signal%:*} leaves the target as it was" as_before
    check "${force:-new file}: SIG${signal%:*} leaves no temporary file" no_temporary_files
    convert "$program"
    check "${force:-new file}: a run after SIG${signal%:*} works" is_complete
  done
done

# ------------------------------------------------------------------ sources are only read

force=
prepare
convert strace -f -qq -y -o trace -e trace=%file,%desc "$program" 2> err
# Everything about a source but reading calls and opening without a way to write.
about_sources() { grep -E "ckpt" trace | grep -vE "execve\("; }
changes() {
  about_sources | grep -E 'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND' && return 0
  about_sources | grep -E '^[0-9]+ +(p?write|ftruncate|fallocate|truncate|unlink|rename|link|symlink|chmod|chown|fchmod|fchown|utime|futime|setxattr|fsetxattr|removexattr|mkdir|rmdir)' | grep -vE 'out/|\.model\.pt\.' && return 0
  return 1
}
opens_sources() { about_sources | grep -qE 'openat2?\(.*__1_0\.distcp'; }
nothing_changes() { ! changes; }
check 'the trace shows sources' opens_sources
check 'no call changes a source' nothing_changes
fingerprint > sources.after
check 'sources are what they were' cmp sources sources.after

finish
