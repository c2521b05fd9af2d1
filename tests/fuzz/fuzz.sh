#!/bin/sh
# Runs every fuzzer for some seconds on top of the committed corpus, as many at once as there are processors, and says
# how many executions each had. What makes one fail is copied to BUILD/fuzz/found; put it into
# tests/fuzz/corpus/TARGET with the change that mends it. Inputs that reach something new are kept in BUILD/fuzz/new,
# from where the next run goes on. FUZZ_SEED is where libFuzzer's choices begin.
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

mkdir -p "$build/fuzz/found"
# Short stacks and a small quarantine make room for some 15 % more inputs.
ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export ASAN_OPTIONS build seconds corpus

# An input of a few KiB may take neither ten seconds nor so much memory at once, sanitizers included. Entropic is how
# libFuzzer chooses inputs: for a target with as many features as `checkpoint` that takes longer than running them.
# shellcheck disable=SC2016  # for the inner shell
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" sh -c '
  target=$1
  mkdir -p "$build/fuzz/new/$target"
  rm -f "$build/fuzz/$target.status"
  entropic=1
  if [ "$target" = checkpoint ]; then entropic=0; fi
  status=0
  "$build/fuzz/${target}_fuzz" -seed="${FUZZ_SEED:-0}" -max_total_time="$seconds" -max_len=4096 \
    -entropic="$entropic" -timeout=10 -rss_limit_mb=1500 -malloc_limit_mb=256 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/found/$target-" "$build/fuzz/new/$target" "$corpus/$target" \
    > "$build/fuzz/$target.log" 2>&1 || status=$?
  echo "$status" > "$build/fuzz/$target.status"' sh

failed=0
for target in "$@"; do
  log=$build/fuzz/$target.log
  if [ "$(cat "$build/fuzz/$target.status" || echo none)" != 0 ]; then
    failed=$((failed + 1))
    echo "FAILED $target: see $log"
    grep -a -A 12 -E 'does not hold|ERROR: |runtime error' "$log" | head -30
  fi
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
done
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
