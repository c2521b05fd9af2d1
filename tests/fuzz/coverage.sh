#!/bin/sh
# Prints the line and branch coverage of the parsers from their unit tests and the fuzzers' corpus. Builds in
# build/coverage, with Clang; needs llvm-profdata and llvm-cov of the same version.
# usage: coverage.sh [FILE...]: also prints the lines of these files that nothing reaches
set -eu

cd "$(dirname "$0")/../.."
build=build/coverage
folders='lib/pickle lib/zip lib/dcp lib/torch'
tests='pickle zip dcp torch fuzz'
flags='-fprofile-instr-generate -fcoverage-mapping'

programs=
for name in $tests; do programs="$programs ${name}_test"; done
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++ \
  "-DCMAKE_CXX_FLAGS=$flags" > /dev/null
# shellcheck disable=SC2086  # one word each
cmake --build $build --target $programs > $build/build.log || {
  tail -30 $build/build.log
  exit 1
}

rm -rf $build/profiles
objects=
for name in $tests; do
  LLVM_PROFILE_FILE=$build/profiles/$name.profraw $build/tests/"${name}_test" --gtest_brief=1 > /dev/null 2>&1 ||
    echo "${name}_test fails"
  objects="${objects:+$objects -object }$build/tests/${name}_test"
done
llvm-profdata merge -o $build/profiles/all $build/profiles/*.profraw

# shellcheck disable=SC2086
llvm-cov report $objects -instr-profile=$build/profiles/all -show-region-summary=false $folders |
  awk '/^-+$/ || /^$/ { next } { print }'
for file in "$@"; do
  # shellcheck disable=SC2086
  llvm-cov show $objects -instr-profile=$build/profiles/all "$file" | grep -E '^ *[0-9]+\| +0\|' || true
done
