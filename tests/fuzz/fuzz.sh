#!/bin/sh
# Runs every fuzzer for some seconds on top of the committed corpus, and says how many executions each had. What makes
# one fail is copied to BUILD/fuzz/found; put it into tests/fuzz/corpus/TARGET with the change that mends it.
# With FUZZ_SEED the inputs are the same ones each time.
# usage: fuzz.sh BUILD SECONDS [TARGET...]
set -eu

build=$1
seconds=$2
shift 2
corpus=$(cd "$(dirname "$0")/corpus" && pwd)
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2046  # names without spaces
  set -- $(ls "$corpus")
fi

found=$build/fuzz/found
mkdir -p "$found"
failed=0
for target in "$@"; do
  log=$build/fuzz/$target.log
  new=$build/fuzz/new/$target
  mkdir -p "$new"
  # An input of a few KiB may take neither ten seconds nor this much at once, sanitizers included.
  if ! "$build/fuzz/${target}_fuzz" -seed="${FUZZ_SEED:-0}" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1500 \
    -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$found/$target-" "$new" "$corpus/$target" \
    > "$log" 2>&1; then
    failed=$((failed + 1))
    echo "FAILED $target: see $log"
    grep -a -A 12 -E 'does not hold|ERROR: |runtime error' "$log" | head -30
  fi
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
done
[ "$failed" -eq 0 ]
