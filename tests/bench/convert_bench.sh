#!/bin/sh
# Times dcpctl beside cp and PyTorch; README.md says what is measured.
# usage: tests/bench/convert_bench.sh --dcpctl BIN --python PY --dir DIR [--gib 4] [--runs 3]
#   --dcpctl BIN  the program
#   --python PY   a Python that has torch
#   --dir DIR     where to work: needs three times the checkpoint; what is made there is removed
#   --gib N       size of the checkpoint (default 4; 0.25 for a try)
#   --runs N      of each command, of which the median counts (default 3)
set -eu

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
}

here=$(cd "$(dirname "$0")" && pwd)
dcpctl='' python='' dir='' gib=4 runs=3
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --dcpctl | --python | --dir | --gib | --runs) [ $# -ge 2 ] || { usage >&2 && exit 2; } ;;
    *) usage >&2 && exit 2 ;;
  esac
  case $1 in
    --dcpctl) dcpctl=$2 ;;
    --python) python=$2 ;;
    --dir) dir=$2 ;;
    --gib) gib=$2 ;;
    --runs) runs=$2 ;;
  esac
  shift 2
done
if [ -z "$dcpctl" ] || [ -z "$python" ] || [ -z "$dir" ]; then
  usage >&2
  exit 2
fi

export LC_ALL=C
mkdir -p "$dir"
work=$(mktemp -d "$dir/convert_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
ckpt=$work/ckpt

# measure RUNS OUTPUT COMMAND...: sets seconds and peak (MiB).
measure() {
  measured=$("$python" "$here/measure.py" "$@")
  seconds=${measured% *}
  peak=${measured#* }
}

# row LABEL BYTES: one line of a table of throughput; the first row is what the others are compared with.
row() {
  : "${reference:=$seconds}"
  awk -v label="$1" -v bytes="$2" -v seconds="$seconds" -v reference="$reference" -v peak="$peak" 'BEGIN {
    printf "%-36s %9.3f %9.0f %9.2f %9.0f\n", label, seconds, bytes / seconds / 1e6, seconds / reference, peak }'
}

header() {
  printf '%-36s %9s %9s %9s %9s\n' "$1" seconds MB/s "times $2" 'peak MiB'
}

bytes_in() {
  find "$1" -type f -exec cat {} + | wc -c
}

echo "making checkpoints..." >&2
mib=$(awk -v gib="$gib" 'BEGIN { print gib * 1024 }')
"$python" "$here/make_checkpoint.py" "$ckpt" "$mib" 8
"$python" "$here/make_checkpoint.py" "$work/small" 1 2
"$python" "$here/make_metadata.py" "$work/large"
sync

bytes=$(bytes_in "$ckpt") # which also fills the cache
printf '%s; %s cores; median of %s runs, source in the cache\n\n' "$("$dcpctl" --version)" "$(nproc)" "$runs"
header "$gib GiB from 8 ranks to one file" cp
measure "$runs" "$work/copy" cp -r "$ckpt" "$work/copy"
row 'cp -r' "$bytes"
# shellcheck disable=SC2016
measure "$runs" "$work/copy" sh -c 'cp -r "$1" "$2" && sync "$2"/* "$2"/.metadata' sh "$ckpt" "$work/copy"
row 'cp -r, then sync' "$bytes"
measure "$runs" "$work/model.pt" "$dcpctl" dcp_to_torch "$ckpt" "$work/model.pt"
row 'dcpctl dcp_to_torch' "$bytes"
measure "$runs" "$work/model.pt" "$python" -m torch.distributed.checkpoint.format_utils dcp_to_torch "$ckpt" "$work/model.pt"
row 'python -m ...format_utils dcp_to_torch' "$bytes"

"$dcpctl" dcp_to_torch -q "$ckpt" "$work/source.pt"
reference=
echo
header "$gib GiB from one file to DCP" cp
measure "$runs" "$work/copy.pt" cp "$work/source.pt" "$work/copy.pt"
row 'cp' "$bytes"
measure "$runs" "$work/dcp" "$dcpctl" torch_to_dcp "$work/source.pt" "$work/dcp"
row 'dcpctl torch_to_dcp' "$bytes"
measure "$runs" "$work/dcp" "$dcpctl" torch_to_dcp "$work/source.pt" "$work/dcp" --world-size 8
row 'dcpctl torch_to_dcp --world-size 8' "$bytes"
measure "$runs" "$work/dcp" "$python" -m torch.distributed.checkpoint.format_utils torch_to_dcp "$work/source.pt" "$work/dcp"
row 'python -m ...format_utils torch_to_dcp' "$bytes"
rm "$work/source.pt"

reference=
echo
header "$gib GiB from DCP to DCP" cp
measure "$runs" "$work/copy" cp -r "$ckpt" "$work/copy"
row 'cp -r' "$bytes"
measure "$runs" "$work/dcp" "$dcpctl" convert "$ckpt" "$work/dcp" --to dcp --data copy
row 'dcpctl convert --data copy' "$bytes"
measure "$runs" "$work/dcp" "$dcpctl" reshard "$ckpt" "$work/dcp" --world-size 3
row 'dcpctl reshard --world-size 3' "$bytes"
measure "$runs" "$work/dcp" "$dcpctl" reshard "$ckpt" "$work/dcp" --mesh dp=2,tp=4 --placement '*=dp:shard(0),tp:shard(-1)'
row 'dcpctl reshard --mesh dp=2,tp=4' "$bytes"

measure 50 '' "$dcpctl" inspect "$work/small"
printf '\ndcpctl inspect of a small checkpoint: %s ms (median of 50 processes)\n\n' \
  "$(awk -v seconds="$seconds" 'BEGIN { printf "%.1f", seconds * 1000 }')"

bytes=$(wc -c < "$work/large/.metadata")
reference=
header "$(awk -v bytes="$bytes" 'BEGIN { printf "%.1f MB", bytes / 1e6 }') of .metadata, 300,000 chunks" pickle
measure "$runs" '' "$python" -c 'import pickle, sys; pickle.load(open(sys.argv[1], "rb"))' "$work/large/.metadata"
startup=$seconds
measure "$runs" '' "$python" -c 'import torch.distributed.checkpoint'
seconds=$(awk -v with="$startup" -v without="$seconds" 'BEGIN { print with - without }')
row 'pickle.load, without import torch' "$bytes"
measure "$runs" '' "$dcpctl" inspect "$work/large"
row 'dcpctl inspect' "$bytes"
measure "$runs" '' "$dcpctl" inspect --json "$work/large"
row 'dcpctl inspect --json' "$bytes"
