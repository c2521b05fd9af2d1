#!/bin/sh
# Times reshard --mpi -j 1 by 1 and more processes, from a shared folder and with --exchange, beside a run without MPI;
# README.md says what is measured.
# usage: tests/bench/mpi_bench.sh --dcpctl BIN --checkpoint DIR --dir DIR [--processes '1 2'] [--runs 3]
#   --dcpctl BIN      the program
#   --checkpoint DIR  what to reshard, to 8 ranks
#   --dir DIR         where to put results, which are removed
#   --processes LIST  how many processes (default 1 2)
#   --runs N          of each command, of which the fastest counts (default 3)
set -eu

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
}

dcpctl='' checkpoint='' dir='' processes='1 2' runs=3
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --dcpctl | --checkpoint | --dir | --processes | --runs) [ $# -ge 2 ] || { usage >&2 && exit 2; } ;;
    *) usage >&2 && exit 2 ;;
  esac
  case $1 in
    --dcpctl) dcpctl=$2 ;;
    --checkpoint) checkpoint=$2 ;;
    --dir) dir=$2 ;;
    --processes) processes=$2 ;;
    --runs) runs=$2 ;;
  esac
  shift 2
done
if [ -z "$dcpctl" ] || [ -z "$checkpoint" ] || [ -z "$dir" ]; then
  usage >&2
  exit 2
fi

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
work=$(mktemp -d "$dir/mpi_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The seconds that the program itself reports, from the plan on, and those of the whole command.
time_run() { # time_run NAME COMMAND...
  name=$1
  shift
  i=0
  : > "$work/times"
  while [ $i -lt "$runs" ]; do
    rm -rf "$work/out"
    begin=$(date +%s%N)
    # shellcheck disable=SC2086  # options
    "$@" reshard --json -j 1 --world-size 8 $options "$checkpoint" "$work/out" > "$work/report"
    end=$(date +%s%N)
    sed 's/.*"seconds": *\([0-9.e-]*\).*/\1/;t;d' "$work/report" | tr '\n' ' ' >> "$work/times"
    echo "$(((end - begin) / 1000000))" >> "$work/times"
    i=$((i + 1))
  done
  sort -n "$work/times" | awk -v name="$name" 'NR == 1 { printf "%-34s %8.3f s %8.3f s\n", name, $1, $2 / 1000 }'
}

printf '%-34s %10s %10s\n' 'fastest run' work 'with start'
options=
time_run 'without MPI' "$dcpctl"
for library in openmpi mpich; do
  command -v mpirun.$library > /dev/null || continue
  for count in $processes; do
    for options in --mpi '--mpi --exchange'; do
      time_run "$library, $count processes, $options" mpirun.$library -n "$count" "$dcpctl"
    done
  done
done
