#!/bin/sh
# Every command with little to work with: 64 descriptors for a checkpoint of hundreds of files, memory for a fraction
# of the data, a million tensors, and a checkpoint of a tebibyte that takes no room. Memory is limited as the process
# counts it and, where that is allowed, as a cgroup does.
# usage: limits.sh PROGRAM MAKE_CHECKPOINT MAKE_SPARSE
#   DCPCTL_LONG=1  10,240 files and a gibibyte instead of 256 and 192 MiB
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
make_sparse=$3
work=$(mktemp -d)
trap 'close_cgroup; rm -rf "$work"' EXIT
cd "$work"

suite=limits
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
# shellcheck source=tests/safety/cgroup.sh
. "$here/cgroup.sh"
show_files() { find . -maxdepth 1 -ls; }

ranks=256
mebibytes=192
if [ "${DCPCTL_LONG:-0}" = 1 ]; then
  ranks=10240
  mebibytes=1024
fi
: > err

# Of a process that is started by it, as the kernel counts: what it may write to and is its own, touched or not.
DATA_LIMIT_KIB=98304
BUDGET=16MiB
CGROUP_MIB=64

unlimited() { "$program" "$@"; }
few_files() { sh -c 'ulimit -n 64 && exec "$@"' sh "$program" "$@"; }
small_cgroup() { in_cgroup "$program" "$@"; }
little_memory() { sh -c "ulimit -d $DATA_LIMIT_KIB && exec \"\$@\"" sh "$program" "$@"; }

# runs NAME STATUS LIMIT WORDS...
runs() {
  about=$1
  expected=$2
  shift 2
  status=0
  "$@" > said 2> err || status=$?
  check "$about: status $expected, not $status" [ "$status" -eq "$expected" ]
}
same_tree() { diff -r "$1" "$2" > /dev/null 2>&1; }

# each_command LIMIT OPTIONS: all of them, on `ckpt`; what they make is as without the limit
each_command() {
  limit=$1
  options=$2
  about_all="$limit of $(find ckpt -name '*.distcp' | wc -l) files"
  rm -rf good made lost
  cp -al ckpt lost
  rm lost/.metadata
  mkdir good made
  for under in unlimited "$limit"; do
    folder=made
    if [ "$under" = unlimited ]; then folder=good; fi
    # shellcheck disable=SC2086  # options
    {
      runs "$about_all: dcp_to_torch" 0 "$under" dcp_to_torch -q $options ckpt $folder/model.pt
      runs "$about_all: torch_to_dcp" 0 "$under" torch_to_dcp -q $options --world-size $ranks good/model.pt $folder/dcp
      runs "$about_all: reshard" 0 "$under" reshard -q $options --world-size $((ranks - 6)) ckpt $folder/reshard
      runs "$about_all: reshard --zstd" 0 "$under" reshard -q $options --world-size 7 --zstd=1 ckpt $folder/zstd
      runs "$about_all: convert" 0 "$under" convert -q $options --to dcp ckpt $folder/convert
      runs "$about_all: convert --data copy" 0 "$under" convert -q $options --to dcp --data copy ckpt $folder/copy
      runs "$about_all: convert --data link" 0 "$under" convert -q $options --to dcp --data link ckpt $folder/link
      runs "$about_all: convert --metadata-only" 0 "$under" convert -q $options --to dcp ckpt --metadata-only $folder/meta
      runs "$about_all: repair" 0 "$under" repair -q $options lost --like ckpt -o $folder/repaired
      runs "$about_all: verify --manifest" 0 "$under" verify -q $options --manifest $folder/manifest ckpt
    }
  done
  check "$about_all: everything is as without a limit" same_tree good made
  # shellcheck disable=SC2086  # options
  {
    runs "$about_all: inspect" 0 "$limit" inspect -q --chunks ckpt
    runs "$about_all: verify" 0 "$limit" verify -q $options --payload ckpt
    runs "$about_all: verify of a file" 0 "$limit" verify -q $options --payload good/model.pt
    runs "$about_all: compare" 0 "$limit" compare -q $options ckpt good/model.pt
  }
}

# --------------------------------------------------------------- descriptors

"$make_checkpoint" one $((ranks / 256 + 1))
"$program" reshard -q --world-size $ranks one ckpt
each_command few_files '-j 3'
rm -rf one ckpt

# -------------------------------------------------------------------- memory

# Fewer files, each larger than the budget.
"$make_checkpoint" ckpt $mebibytes
ranks=8
each_command little_memory "-j 2 --memory $BUDGET"
status=0
sh -c 'ulimit -d 4096 && exec "$@"' sh "$program" verify -q --payload ckpt > said 2> err || status=$?
check 'the limit of memory is one' [ "$status" -ne 0 ]
cgroups=''
if open_cgroup $CGROUP_MIB; then
  cgroups=small_cgroup
  each_command small_cgroup "-j 2 --memory $BUDGET"
  status=0
  { head -c $((2 * CGROUP_MIB << 20)) /dev/zero | in_cgroup tail -c $((2 * CGROUP_MIB << 20)) > /dev/null; } 2> err || status=$?
  check 'the limit of the cgroup is one' [ "$status" -ne 0 ]
  close_cgroup
else
  echo 'memory cgroups may not be made here: limits of whole processes are skipped'
  skipped=$((skipped + 1))
fi
rm -rf ckpt good made lost

# ---------------------------------------------------------- a million tensors

# What is known of each takes memory, whatever the budget for their bytes: less than a gibibyte.
MANY_LIMIT_KIB=819200
many_limit() { sh -c "ulimit -d $MANY_LIMIT_KIB && exec \"\$@\"" sh "$program" "$@"; }
"$make_sparse" many 1 0 1000000
runs 'a million tensors: inspect' 0 many_limit inspect -q many
runs 'a million tensors: verify' 0 many_limit verify -q many
runs 'a million tensors: dcp_to_torch' 0 many_limit dcp_to_torch -q many many.pt
check 'a million tensors: they are there' grep -qa archive/data/1000000 many.pt
rm -rf many many.pt

# ------------------------------------------------------------------ a tebibyte

if ! "$make_sparse" ckpt 16 64 2> err; then
  echo 'the file system cannot hold sparse files of 64 GiB: a checkpoint of a tebibyte is skipped'
  skipped=$((skipped + 1))
  finish
  exit
fi
for limit in little_memory $cgroups; do
  if [ "$limit" = small_cgroup ]; then open_cgroup $CGROUP_MIB; fi
  about_all="$limit of 1 TiB"
  runs "$about_all: inspect" 0 "$limit" inspect --json ckpt
  check "$about_all: it is that much" grep -q '"bytes": *1099511627776' said
  runs "$about_all: verify" 0 "$limit" verify -q ckpt
  runs "$about_all: dcp_to_torch --dry-run" 0 "$limit" dcp_to_torch --dry-run ckpt model.pt
  runs "$about_all: reshard --dry-run" 0 "$limit" reshard --dry-run --world-size 1000 ckpt new
  runs "$about_all: convert --metadata-only" 0 "$limit" convert -q --to dcp ckpt --metadata-only metadata
  runs "$about_all: convert --data link" 0 "$limit" convert -q --to dcp --data link ckpt linked
  runs "$about_all: verify of that" 0 "$limit" verify -q linked
  rm -rf metadata linked
  if [ "$limit" = small_cgroup ]; then echo "1 TiB in a cgroup of $CGROUP_MIB MiB: $(($(cgroup_peak) >> 20)) MiB at most"; fi
done
close_cgroup
if [ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -lt 1000000000 ]; then
  runs '1 TiB: dcp_to_torch without the room' 3 little_memory dcp_to_torch -q ckpt model.pt
  check '1 TiB: the room is told before anything is written' grep -q 'no space' err
  runs '1 TiB: reshard without the room' 3 little_memory reshard -q --world-size 1000 ckpt new
  check '1 TiB: nothing is left of it' [ "$(find . -maxdepth 1 -name '*.tmp' -o -name new -o -name model.pt)" = '' ]
else
  echo 'there is room for a tebibyte: what is said when there is none is skipped'
  skipped=$((skipped + 1))
fi
finish
