#!/bin/sh
# Builds dcpctl and runs every test, on Debian 12 or 13, as root or with sudo. Installs what is missing, after
# saying so; safe to run again, and then needs no network.
# usage: sh tests/run.sh [--no-oracle] [--long]
#   --no-oracle  leave out the tests that compare with PyTorch itself
#   --long       also run with AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer and run each fuzzer for
#                FUZZ_SECONDS, 600 (always so when CI=true, but for 60), fail and kill more system calls (DCPCTL_LONG=1),
#                put 10,000 random state dicts through a round trip instead of 500, and read what we write with the
#                PyTorch 1.13 of Debian 12; the fuzzers' corpora are run always
# The last lines count what passed and failed; when the oracle tests are left out, their number is the last line.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# shellcheck source=cmd/debian.sh
. cmd/debian.sh

CI=${CI:-false}
oracle=yes
long=no
for argument in "$@"; do
  case $argument in
    --no-oracle) oracle=no ;;
    --long) long=yes ;;
    -h | --help)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
      exit 0
      ;;
    *)
      echo "usage: $0 [--no-oracle] [--long]" >&2
      exit 2
      ;;
  esac
done

# Sanitizers and fuzzers are Clang's.
SANITIZER_PACKAGES='clang libclang-rt-dev'
# Plug-ins are built for what is there.
TEST_PACKAGES='python3 libgtest-dev libgmock-dev librapidcheck-dev mandoc shellcheck strace
  libtorch-dev libopenmpi-dev openmpi-bin libmpich-dev mpich'
TORCH_VERSION=2.13.0
VENV=build/oracle
passed=0
failed=0
skipped=0
failures=

started=$(date +%s)
heading() { printf '\n== %s  (after %d s)\n' "$*" $(($(date +%s) - started)); }

fail() {
  failed=$((failed + 1))
  failures="$failures
  $*"
  say "FAILED: $*"
}

# check NAME COMMAND...: one test, which passes when the command succeeds.
check() {
  name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    fail "$name"
  fi
}

# Adds the results of a ctest run to the totals: of a GoogleTest executable its single tests, of any other
# test one. Such an executable counts once, as failed, when it ended without writing its results.
# count_ctest PRESET JUNIT_FILE GTEST_FOLDER
count_ctest() {
  awk -v preset="$1" -v folder="$3" '
    function attribute(line, name) {
      return match(line, " " name "=\"[^\"]*\"") ? substr(line, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : ""
    }
    /<testcase / {
      name = attribute($0, "name")
      ok = attribute($0, "status") == "run"
      tests = 0
      file = folder "/" name "_test.xml"
      while ((getline line < file) > 0) {
        if (line ~ /<testsuites /) {
          tests = attribute(line, "tests"); bad = attribute(line, "failures") + attribute(line, "errors")
        }
        if (line ~ /<testcase .*result="skipped"/) skipped++
      }
      close(file)
      if (tests == 0) { tests = 1; bad = !ok }
      if (!ok && bad == 0) bad = 1
      passed += tests - bad; failed += bad
      if (bad) names = names " " preset "/" name
    }
    END { printf "%d %d %d%s\n", passed - skipped, failed, skipped, names }' "$2"
}

# run_ctest PRESET [ctest option...]
run_ctest() {
  preset=$1
  shift
  junit=$root/build/$preset/ctest.xml
  results=$root/build/$preset/gtest
  rm -rf "$junit" "$results"
  mkdir -p "$results"
  GTEST_OUTPUT="xml:$results/" ctest --preset "$preset" -j "$(nproc)" --output-junit "$junit" "$@" || true
  if ! [ -s "$junit" ]; then
    fail "ctest of $preset wrote no results"
    return 0
  fi
  counts=$(count_ctest "$preset" "$junit" "$results")
  # shellcheck disable=SC2086  # numbers, then names of tests
  set -- $counts
  passed=$((passed + $1))
  failed=$((failed + $2))
  skipped=$((skipped + $3))
  shift 3
  for name in "$@"; do
    failures="$failures
  $name"
  done
}

# test_preset PRESET TARGET [ctest option...]
test_preset() {
  preset=$1
  target=$2
  shift 2
  heading "Build: $preset"
  if configure_and_build "$preset" -DDCPCTL_TESTS=ON -DDCPCTL_WERROR=ON -- "$target"; then
    heading "Tests: $preset"
    run_ctest "$preset" "$@"
  else
    fail "build of $preset"
  fi
}

check_scripts() {
  for script in cmd/*.sh tests/*.sh tests/*/*.sh .ci/run; do
    if [ -f "$script" ]; then check "shellcheck $script" shellcheck -x "$script"; fi
  done
}

check_manual() {
  for page in man/*.[157]; do
    if [ -f "$page" ]; then check "mandoc $page" mandoc -T lint -W warning "$page"; fi
  done
}

# Only with the version the sources are formatted by: others differ in details.
check_format() {
  if ! command -v clang-format-14 > /dev/null 2>&1; then
    say 'clang-format-14 is not there: the format of the sources is not checked.'
    return 0
  fi
  check 'clang-format' sh -c \
    'find include lib cmd tests -name "*.h" -o -name "*.cc" | xargs clang-format-14 --dry-run -Werror 2>&1 |
     { ! grep -o "^[^ ]*: error:.*"; }'
}

# Is the torch of this Python at least 2.9?
has_torch() {
  "$1" -c 'import sys, numpy, torch
sys.exit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 9))' > /dev/null 2>&1
}

# Makes a virtual environment with torch in $VENV.
install_torch() {
  python=python3
  if command -v python3.11 > /dev/null 2>&1; then python=python3.11; fi
  if ! "$python" -c 'import ensurepip, venv' > /dev/null 2>&1; then
    install_packages python3 python3-venv || return 1
    python=/usr/bin/python3
  fi
  say "PyTorch $TORCH_VERSION for the tests that compare with it will now be installed by pip into $VENV: the build for"
  say 'CPUs is a download of about 200 MB (1 GB on disk). Where pip finds only the build for GPUs, it is about 3 GB'
  say '(8 GB on disk); to avoid that, set PIP_EXTRA_INDEX_URL to the CPU index of pytorch.org, or use --no-oracle.'
  rm -rf "$VENV"
  "$python" -m venv "$VENV" &&
    "$VENV/bin/python" -m pip install --quiet --retries 2 "torch==$TORCH_VERSION" numpy zstandard &&
    has_torch "$VENV/bin/python"
}

# Sets oracle_python to a Python with torch, or leaves it empty.
find_oracle() {
  oracle_python=
  if [ "$oracle" = no ]; then return 0; fi
  heading 'Oracle: a Python with PyTorch'
  if has_torch python3; then
    oracle_python=python3
  elif has_torch "$VENV/bin/python" || install_torch; then
    oracle_python=$VENV/bin/python
  else
    say 'PyTorch cannot be had here.'
    return 0
  fi
  "$oracle_python" -c 'import sys, torch; print("torch", torch.__version__, "in", sys.executable)'
}

# Sets DCPCTL_OLD_PYTHON, for the tests, to a Python with Debian 12's torch 1.13, where there is one.
find_old_torch() {
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && printf '%s-%s' "${ID:-}" "${VERSION_ID:-}") || release=
  if [ "$long" = yes ] && [ "$release" = debian-12 ]; then
    install_packages python3-torch || say 'python3-torch cannot be had here: PyTorch 1.13 is left out.'
  fi
  if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import torch
assert torch.__version__.startswith("1.13.")' > /dev/null 2>&1; then
    DCPCTL_OLD_PYTHON=/usr/bin/python3
    export DCPCTL_OLD_PYTHON
    say 'PyTorch 1.13 reads what we write, too.'
  fi
}

# The sum of the numbers before WORD in those lines of FILE that are only counts: `N passed, N failed`, `N skipped`.
sum_of() {
  awk -v word="$1" '/^[0-9]+ (passed|skipped)[0-9a-z, ]*$/ { for (i = 2; i <= NF; i++) if ($i ~ "^" word) sum += $(i - 1) }
    END { print sum + 0 }' "$2"
}

# Adds what LOG counts to the totals. add_counts NAME STATUS LOG
add_counts() {
  count_failed=$(sum_of failed "$3")
  passed=$((passed + $(sum_of passed "$3")))
  failed=$((failed + count_failed))
  skipped=$((skipped + $(sum_of skipped "$3")))
  if [ "$count_failed" -gt 0 ]; then
    failures="$failures
  $1 ($count_failed)"
  elif [ "$2" -ne 0 ]; then
    fail "$1 ended with status $2"
  fi
}

# Runs scripts that compare with PyTorch, as many at once as there are processors: each uses about one.
# run_oracle_scripts SCRIPT... with the option that belongs to one behind it, in one word: 'SCRIPT --count 100'.
run_oracle_scripts() {
  # shellcheck disable=SC2016  # for the inner shell
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" sh -c '
    log=build/$(basename "${2%% *}" .py)
    rm -f "$log.status"
    begun=$(date +%s)
    status=0
    "$1" $2 --dcpctl build/release/bin/dcpctl --testdata testdata > "$log.log" 2>&1 || status=$?
    echo "$status $(($(date +%s) - begun))" > "$log.status"' sh "$oracle_python"
  for script in "$@"; do report_oracle_script "${script%% *}"; done
}

# Adds what a script did to the totals, and says it.
report_oracle_script() {
  log=build/$(basename "$1" .py)
  if ! read -r status seconds < "$log.status"; then
    fail "$1 was not run"
    return 0
  fi
  heading "Oracle test: $1, $seconds s"
  # Passed checks are many; the log has them.
  grep -v '^ok ' "$log.log" || true
  add_counts "$1" "$status" "$log.log"
}

# The tensor plug-in on the LibTorch of the oracle, which is newer than Debian's, in a build of its own.
build_oracle_plugin() {
  heading "Tensor plug-in on the oracle's LibTorch"
  torch=$("$oracle_python" -c 'import torch; print(torch.utils.cmake_prefix_path)')
  cmake -S . -B build/oracle-plugin -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDCPCTL_TESTS=OFF -DDCPCTL_TORCH=ON \
    -DCMAKE_PREFIX_PATH="$torch" > /dev/null &&
    cmake --build build/oracle-plugin --target dcpctl_torch_plugin
}

# A fuzzer that finds nothing wrong counts as one test. They are part of the build with AddressSanitizer.
run_fuzzers() {
  seconds=${FUZZ_SECONDS:-600}
  if [ "$long" = no ]; then
    seconds=${FUZZ_SECONDS:-60}
    FUZZ_SEED=${FUZZ_SEED:-1} # the same beginning each time
    export FUZZ_SEED
  fi
  heading "Fuzzers, for $seconds seconds each"
  log=build/asan/fuzz.log
  status=0
  sh tests/fuzz/fuzz.sh build/asan "$seconds" > "$log" 2>&1 || status=$?
  cat "$log"
  add_counts fuzzers "$status" "$log"
}

# As many as there are checkpoints that PyTorch would be asked about.
count_oracle_tests() { find testdata -mindepth 2 -maxdepth 3 \( -name ckpt -o -path 'testdata/odd/*' -prune \) | wc -l; }

if [ "$long" = yes ]; then
  DCPCTL_LONG=1 # for tests that can do more
  export DCPCTL_LONG
fi

heading 'Packages'
# shellcheck disable=SC2086  # one word each
install_packages $BUILD_PACKAGES $TEST_PACKAGES

test_preset release all

heading 'Scripts, manual pages, format'
check_scripts
check_manual
check_format

find_oracle
oracle_skipped=0
if [ -n "$oracle_python" ]; then
  find_old_torch
  set -- tests/interop/*_test.py
  if [ "$long" = yes ]; then
    # shellcheck disable=SC2046  # none of these paths has a space
    set -- $(printf '%s\n' "$@" | grep -v /roundtrip_test) 'tests/interop/roundtrip_test.py --count 10000'
  fi
  run_oracle_scripts "$@"
  if build_oracle_plugin; then
    DCPCTL_PLUGIN_DIR=$root/build/oracle-plugin/lib/dcpctl
    export DCPCTL_PLUGIN_DIR
    count=
    if [ "$long" = yes ]; then count=' --count 50000000'; fi
    run_oracle_scripts "tests/interop/dtype_test.py$count" 'tests/interop/stats_test.py --only made'
    unset DCPCTL_PLUGIN_DIR
  else
    fail "build of the tensor plug-in on the oracle's LibTorch"
  fi
else
  oracle_skipped=$(count_oracle_tests)
  skipped=$((skipped + oracle_skipped))
  if [ "$CI" = true ] && [ "$oracle" = yes ]; then fail 'the oracle is missing, and CI must have it'; fi
fi

if [ "$CI" = true ] || [ "$long" = yes ]; then
  # shellcheck disable=SC2086  # one word each
  install_packages $SANITIZER_PACKAGES
  unset DCPCTL_LONG # all that would take hours with sanitizers
  test_preset asan all
  run_fuzzers
  test_preset tsan dcpctl_thread_tests -L threads
else
  say ''
  say 'The sanitizer builds are left out: use --long, or set CI=true.'
fi
heading 'Totals'
if [ -n "$failures" ]; then say "Failed:$failures"; fi
totals="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then totals="$totals, $skipped skipped"; fi
say "$totals"
if [ "$oracle_skipped" -gt 0 ]; then say "$oracle_skipped oracle tests skipped (they need torch >= 2.9)"; fi
[ "$failed" -eq 0 ]
