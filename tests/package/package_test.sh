#!/bin/sh
# Installs the build into a fresh folder, and builds and runs the program in consumer/ against it.
# usage: package_test.sh BUILD_FOLDER VERSION
set -eu

build=$1
version=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
for file in bin/dcpctl include/dcpctl/survey.h include/dcpctl/dtypes.def; do
  [ -e "$work/prefix/$file" ] || { echo "$file is not installed"; exit 1; }
done
"$work/prefix/bin/dcpctl" --version | grep -F "$version"

cmake -G Ninja -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
cmake --build "$work/consumer"
"$work/consumer/consumer" /nonexistent | grep -F "$version"
