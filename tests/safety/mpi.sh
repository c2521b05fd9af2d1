#!/bin/sh
# Reshards with real MPI: the same bytes for any number of processes, from a shared folder and from folders of single
# nodes; and whatever goes wrong in one process ends all of them, with one message and nothing published. Once for each
# library that is there; what needs strace is skipped where it may not trace.
# usage: mpi.sh PROGRAM MAKE_CHECKPOINT FAKE_DEVICE
#   DCPCTL_LONG=1  one process dies and fails at every call that writes, not at some
#   MPI_TESTS      names of functions: only these
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
fake_device=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# As many processes as are asked for, and no network.
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_btl=self,vader
OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_btl \
  OMPI_MCA_btl_vader_single_copy_mechanism

MOST_SECONDS=60 # that an end may take

suite=mpi
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
show_files() {
  echo "with $library:"
  find . -path ./ckpt -prune -o -path './alone*' -prune -o -ls
}

digests() { (cd "$1" && find . -type f ! -path './ckpt/*' -exec sha256sum {} + | sort -k 2); }
status_is() { [ "$status" -eq "$1" ]; }
says() { grep -q "$1" err; }
# Launchers have their own things to say.
says_once() { [ "$(grep -c ': error: ' err)" -eq 1 ] && says "$1"; }
nothing_there() { [ ! -e out/new ] && [ -z "$(find out -mindepth 1 -name '.*.tmp' -o -name '*.distcp')" ]; }
not_published() { [ ! -e out/new ]; }

wrapper() { # wrapper VICTIM COMMAND...: run by the process of that rank instead of the program, which follows
  victim=$1
  shift
  {
    echo '#!/bin/sh'
    # shellcheck disable=SC2016  # expanded when it runs
    echo 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
    echo "if [ \"\$rank\" = $victim ]; then exec $* \"$program\" \"\$@\"; fi"
    echo "exec \"$program\" \"\$@\""
  } > wrapped
  chmod +x wrapped
}

# run PROCESSES PROGRAM ARGUMENTS...: status and seconds
run() {
  processes=$1
  shift
  begin=$(date +%s)
  status=0
  timeout -s KILL $((MOST_SECONDS * 2)) "$mpirun" -n "$processes" "$@" > said 2> err || status=$?
  seconds=$(($(date +%s) - begin))
}
in_time() { [ "$seconds" -le "$MOST_SECONDS" ]; }

reshard='reshard --mpi -q -j 1 --world-size 5'

same_bytes() {
  for processes in 1 2 3 7; do
    for options in '-j 1' '-j 3 --memory 8MiB'; do
      if [ "$processes$options" = '1-j 3 --memory 8MiB' ]; then continue; fi
      rm -rf out && mkdir out
      # shellcheck disable=SC2086  # options
      run "$processes" "$program" $reshard $options ckpt out/new
      digests out/new > found 2> /dev/null || true
      check "$processes processes with $options make the same bytes" cmp -s found expected
    done
  done
  rm -rf out && mkdir out
  # shellcheck disable=SC2086  # options
  run 3 "$program" $reshard --zstd ckpt out/new
  digests out/new > found 2> /dev/null || true
  check '3 processes that compress make the same bytes' cmp -s found expected-zstd
  run 2 "$program" reshard --mpi --world-size 5 --dry-run ckpt out/other
  check 'a plan is printed once' [ "$(grep -c '__4_0.distcp' said)" -eq 1 ]
  check 'a plan makes nothing' [ ! -e out/other ]
}

# Each process in a folder of its own, as if it were alone on a node. Data file N is in the folder of one process, the
# metadata in that of the first.
nodes() { # nodes PROCESSES
  rm -rf node && mkdir node
  rank=0
  while [ $rank -lt "$1" ]; do
    mkdir -p node/$rank/ckpt
    rank=$((rank + 1))
  done
  cp -p ckpt/.metadata node/0/ckpt
  cp -p ckpt/__0_0.distcp node/$(($1 - 1))/ckpt
  cp -p ckpt/__1_0.distcp node/0/ckpt
}

each_on_its_node() { # each_on_its_node PROGRAM: what on_node runs
  # shellcheck disable=SC2016  # expanded when it runs
  printf '#!/bin/sh\ncd node/${OMPI_COMM_WORLD_RANK:-$PMI_RANK} && exec "%s" "$@"\n' "$1" > on_node
  chmod +x on_node
}

exchanged() {
  each_on_its_node "$program"
  for processes in 1 2 3 7; do
    nodes "$processes"
    rm -rf out && mkdir out
    # shellcheck disable=SC2086  # options
    run "$processes" ./on_node $reshard --exchange ckpt ../../out/new
    digests out/new > found 2> /dev/null || true
    check "$processes processes that see a part each make the same bytes" cmp -s found expected
    # shellcheck disable=SC2086  # options
    run "$processes" ./on_node $reshard --exchange ckpt new
    check "$processes processes leave one metadata" [ "$(find node -path '*/new/.metadata')" = node/0/new/.metadata ]
    mkdir out/joined
    find node -path '*/new/*' -type f -exec cp {} out/joined \;
    digests out/joined > found
    check "$processes processes with disks of their own make the same bytes" cmp -s found expected
    check "$processes processes leave no temporary folder" [ -z "$(find node -name '.*.tmp')" ]
  done
  nodes 2
  rm -rf out && mkdir out
  # shellcheck disable=SC2086  # options
  run 2 ./on_node $reshard ckpt ../../out/new
  check 'without --exchange a file that is elsewhere is missing' status_is 3
  check 'the missing file is named once' says_once '__0_0.distcp'
  check 'and leaves nothing' nothing_there
  cp -p ckpt/* node/0/ckpt
  cp -p ckpt/.metadata node/1/ckpt
  rm node/1/ckpt/__*
  # shellcheck disable=SC2086  # options
  run 2 ./on_node $reshard ckpt ../../out/new
  check 'the process that lacks a file is named' says_once 'distcp: error: cannot open: No such file.*process 1 of 2'
  check 'and told what helps' says ' --exchange '
  check 'and leaves nothing, either' nothing_there
  : > node/1/new
  # shellcheck disable=SC2086  # options
  run 2 ./on_node $reshard --exchange ckpt new
  check 'a target that one disk has already stops all' says_once 'process 1 of 2'
  check 'and nothing is published elsewhere' [ ! -e node/0/new ]
}

# What the processes after the first uploaded to their devices.
uploaded() { cat node/[!0]/uploads | awk '{ sum += $1 } END { print sum }'; }

# Who sends dies while others have bytes of it under way to their devices.
sender_killed() {
  if ! strace -o /dev/null true 2> /dev/null; then
    skipped=$((skipped + 9))
    return
  fi
  nodes 2
  mv node/0/ckpt/__1_0.distcp node/1/ckpt
  wrapper 1 strace -f -qq -o "$work/trace" -e trace=pread64 -e "inject=pread64:signal=KILL:when=\$KILL_AT"
  each_on_its_node "$work/wrapped"
  for KILL_AT in 2 3 4; do
    export KILL_AT
    rm -rf out && mkdir out
    # shellcheck disable=SC2086  # options
    run 2 ./on_node $with_device ckpt ../../out/new
    check "the sender killed at its read $KILL_AT ends all" [ "$status" -ne 0 ]
    check "the sender killed at its read $KILL_AT: in time" in_time
    check "the sender killed at its read $KILL_AT: nothing published" not_published
  done
}

# One process has all the data, and the device is one that carries out copies on the host: MPI can receive into its
# memory, unless it is told to say otherwise.
on_device() {
  each_on_its_node "$program"
  mkdir -p plugins
  ln -sf "$plugins/dcpctl_$library.so" "$fake_device" plugins
  DCPCTL_PLUGIN_DIR=$work/plugins
  DCPCTL_FAKE_DEVICE_LOG=uploads
  export DCPCTL_PLUGIN_DIR DCPCTL_FAKE_DEVICE_LOG
  with_device='reshard --mpi -v -j 1 --world-size 5 --exchange --device cuda'
  for processes in 2 3; do
    for apart in 0 1; do
      rm -rf out && mkdir out
      nodes "$processes"
      cp -p ckpt/__* node/0/ckpt
      rm node/[!0]/ckpt/__*
      # shellcheck disable=SC2086  # options
      DCPCTL_FAKE_DEVICE_APART=$apart run $processes ./on_node $with_device ckpt ../../out/new
      digests out/new > found 2> /dev/null || true
      check "$processes processes with devices make the same bytes, apart: $apart" cmp -s found expected
      if [ $apart = 0 ]; then
        check "$processes processes: bytes land" [ "$(uploaded)" = 0 ]
        check "$processes processes: and -v says so" says 'MPI receives into the memory of the device'
      else
        check "$processes processes: bytes are copied to memory apart" [ "$(uploaded)" -gt 10000000 ]
        check "$processes processes: and -v says it" says 'bytes are copied there'
      fi
    done
  done
  printf X | dd of=node/0/ckpt/__1_0.distcp bs=1 seek=3000000 conv=notrunc 2> /dev/null
  rm -rf out && mkdir out
  # shellcheck disable=SC2086  # options
  run 3 ./on_node $with_device ckpt ../../out/new
  check 'damage that lands ends all' status_is 3
  check 'damage that lands is named once' says_once 'ckpt/__1_0.distcp:0x.*CRC-32 of the storage is '
  check 'damage that lands leaves nothing' nothing_there
  sender_killed
  unset DCPCTL_PLUGIN_DIR DCPCTL_FAKE_DEVICE_LOG
}

damaged() {
  cp -a ckpt bad
  printf X | dd of=bad/__1_0.distcp bs=1 seek=3000000 conv=notrunc 2> /dev/null
  for processes in 1 2 3; do
    rm -rf out && mkdir out
    # shellcheck disable=SC2086  # options
    run $processes "$program" $reshard bad out/new
    check "$processes processes end with status 3 on damage" status_is 3
    check "$processes processes name it once" says_once 'bad/__1_0.distcp:0x'
    check "$processes processes leave nothing of damage" nothing_there
    check "$processes processes end in time" in_time
  done
  rm -rf bad
}

refused() {
  rm -rf out && mkdir -p out/new && : > out/new/.metadata
  # shellcheck disable=SC2086  # options
  run 2 "$program" $reshard ckpt out/new
  check 'an existing target is refused once' says_once 'already exists'
  run 2 "$program" reshard --mpi ckpt out/other --nonsense
  check 'a wrong command line is refused once' says_once 'nonsense'
  check 'a wrong command line has status 2' status_is 2
  # shellcheck disable=SC2086  # options
  DCPCTL_PLUGIN_DIR=/nowhere run 2 "$program" $reshard ckpt out/other
  check 'a missing plug-in is told once' says_once 'expected the plug-in that --mpi needs'
  check 'a missing plug-in has status 3' status_is 3
  if [ -e "$plugins/dcpctl_$other.so" ]; then
    # shellcheck disable=SC2086  # options
    DCPCTL_MPI=$other run 2 "$program" $reshard ckpt out/other
    check 'the other library is noticed' says 'the launcher started 2 processes'
    check 'the other library makes nothing' [ ! -e out/other ]
  fi
}

# Points of one process at which it dies or a call of it fails: those of the data that it writes, of what it syncs,
# and of the names that it gives. Counted from 1 by call. The first is the leader, which gives the directory its name.
few_points() { # few_points VICTIM
  case $1 in
    0) echo 'mkdir:1 pwrite64:1 pwrite64:2 fsync:1 fsync:2 renameat2:1 renameat:1' ;;
    *) echo 'pwrite64:1 fsync:1 renameat2:1' ;;
  esac
}

# All that it makes of the result in a run that nothing happens to. The libraries of MPI write files of their own, in
# threads that are counted each for itself.
all_points() { # all_points VICTIM
  calls='mkdir ftruncate fallocate pwrite64 sync_file_range fsync renameat renameat2'
  wrapper "$1" strace -f -qq -y -o "$work/calls" -e "trace=$(echo "$calls" | tr ' ' ,)"
  rm -rf out && mkdir out
  # shellcheck disable=SC2086  # options
  run 3 ./wrapped $reshard ckpt out/new
  for call in $calls; do
    awk -v call="$call" '
      $2 ~ "^" call "\\(" { number = ++count[$1]; if (/out[\/>]/) ours[number] = 1; else others[number] = 1 }
      END { for (number in ours) if (!(number in others)) print call ":" number }' calls
  done
}

points() {
  if [ "${DCPCTL_LONG:-0}" = 1 ]; then all_points "$1"; else few_points "$1"; fi
}

# at VICTIM POINT WHAT: three processes, of which something happens to one at a call
at() {
  rm -rf out && mkdir out
  rm -f "$work/trace"
  wrapper "$1" strace -f -qq -o "$work/trace" -e "trace=${2%:*}" -e "inject=${2%:*}:$3:when=${2#*:}"
  # shellcheck disable=SC2086  # options
  run 3 ./wrapped $reshard ckpt out/new
}
reached() { grep -qE 'INJECTED|killed by' trace; }

# The last call of all may be the one that publishes.
whole_or_nothing() {
  if [ ! -e out/new ]; then return 0; fi
  digests out/new > found && cmp -s found expected
}
# What is left under other names has metadata only with all files.
no_half_checkpoint() {
  for left in out/.*.tmp; do
    if [ -e "$left/.metadata" ] && { digests "$left" > found && ! cmp -s found expected; }; then return 1; fi
  done
}

# Its folder may stay only where the launcher leaves the others no time.
killed() {
  if ! strace -o /dev/null true 2> /dev/null; then
    skipped=$((skipped + 53))
    return
  fi
  folders=0
  kills=0
  for victim in 0 1 2; do
    for point in $(points $victim); do
      at "$victim" "$point" signal=KILL
      reached || continue
      kills=$((kills + 1))
      check "process $victim killed at $point ends all" [ "$status" -ne 0 ]
      check "process $victim killed at $point: in time" in_time
      check "process $victim killed at $point: all or nothing" whole_or_nothing
      check "process $victim killed at $point: no half checkpoint" no_half_checkpoint
      if [ -n "$(find out -mindepth 1 -maxdepth 1 -name '.*')" ]; then folders=$((folders + 1)); fi
    done
  done
  check 'there were calls to kill at' [ $kills -ge 12 ]
  echo "$library: $kills kills, after which $folders temporary folders were left behind"
}

# Done after all, or status 3 and one message. A sync that failed may have been that of the name.
ended_well() {
  case $status in
    0) [ -e out/new ] && whole_or_nothing ;;
    3) whole_or_nothing && [ "$(grep -c ': error: ' err)" -eq 1 ] ;;
    *) false ;;
  esac
}
nothing_left() { [ -z "$(find out -mindepth 1 -maxdepth 1 -name '.*')" ]; }

faulted() {
  if ! strace -o /dev/null true 2> /dev/null; then
    skipped=$((skipped + 40))
    return
  fi
  faults=0
  errors=ENOSPC
  if [ "${DCPCTL_LONG:-0}" = 1 ]; then errors='EIO ENOSPC'; fi
  for victim in 0 1 2; do
    for point in $(points $victim); do
      for error in $errors; do
        at "$victim" "$point" "error=$error"
        reached || continue
        faults=$((faults + 1))
        check "$error from $point of process $victim, status $status" ended_well
        check "$error from $point of process $victim: in time" in_time
        check "$error from $point of process $victim leaves nothing temporary" nothing_left
      done
    done
  done
  check 'there were calls to fail' [ $faults -ge 12 ]
  echo "$library: $faults faults"
}

interrupted() {
  if ! strace -o /dev/null true 2> /dev/null; then
    skipped=$((skipped + 8))
    return
  fi
  for signal in INT TERM; do
    rm -rf out && mkdir out
    wrapper 1 strace -f -qq -o /dev/null -e trace=pwrite64 -e inject=pwrite64:delay_enter=3000000:when=1
    # shellcheck disable=SC2086  # options
    env --default-signal=INT,TERM "$mpirun" -n 2 ./wrapped $reshard ckpt out/new > said 2> err &
    launcher=$!
    tries=0
    while [ -z "$(find out -name '*.distcp*')" ] && [ $tries -lt 300 ]; do
      sleep 0.1
      tries=$((tries + 1))
    done
    begin=$(date +%s)
    kill -s $signal $launcher
    status=0
    wait $launcher || status=$?
    seconds=$(($(date +%s) - begin))
    check "SIG$signal to the launcher ends all" [ "$status" -ne 0 ]
    check "SIG$signal to the launcher: in time" in_time
    check "SIG$signal to the launcher: nothing published" not_published
    sleep 1 # the launcher does not wait for those it ends
    check "SIG$signal to the launcher: nothing left" nothing_there
  done
}

"$make_checkpoint" ckpt 24
mkdir out
: > err
library=none
"$program" reshard -q --world-size 5 ckpt alone
digests alone > expected
"$program" reshard -q --world-size 5 --zstd ckpt alone-zstd
digests alone-zstd > expected-zstd
knows_mpi() { ldd "$program" | grep -q -i mpi; }
if knows_mpi; then check "the program itself knows no MPI" false; else check "the program itself knows no MPI" true; fi

plugins=$(dirname "$(dirname "$program")")/lib/dcpctl
for library in openmpi mpich; do
  mpirun=mpirun.$library
  other=mpich
  if [ $library = mpich ]; then other=openmpi; fi
  if [ ! -e "$plugins/dcpctl_$library.so" ] || ! command -v $mpirun > /dev/null; then
    echo "$library is not there: skipped"
    skipped=$((skipped + 173))
    continue
  fi
  if [ -n "${MPI_TESTS:-}" ]; then
    for test in $MPI_TESTS; do $test; done
    continue
  fi
  same_bytes
  exchanged
  on_device
  damaged
  refused
  killed
  faulted
  interrupted
done
finish
