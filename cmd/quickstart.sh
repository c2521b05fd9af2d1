#!/bin/sh
# From a fresh clone on Debian 12 or 13 to a converted checkpoint: installs what is missing, builds the program
# and converts a sample, or SRC (a DCP directory) to DST (a torch.save file). Safe to run again.
# usage: sh cmd/quickstart.sh [SRC DST]
set -eu

case $# in
  0 | 2) ;;
  *)
    echo "usage: $0 [SRC DST]" >&2
    exit 2
    ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmd/debian.sh
. "$root/cmd/debian.sh"

# Names on the command line are relative to where the user is, not to the repository.
absolute() {
  case $1 in
    /*) printf '%s' "$1" ;;
    *) printf '%s/%s' "$PWD" "$1" ;;
  esac
}

if [ $# -eq 2 ]; then
  source=$(absolute "$1")
  target=$(absolute "$2")
  [ -e "$source" ] || die "$1 does not exist"
fi

cd "$root"
# shellcheck disable=SC2086  # one word each
install_packages $BUILD_PACKAGES
say 'Building build/release/bin/dcpctl; the first time this takes some minutes.'
# A build with the tests, made by tests/run.sh, stays one.
if [ -e build/release/CMakeCache.txt ]; then
  configure_and_build release -- dcpctl_cli
else
  configure_and_build release -DDCPCTL_TESTS=OFF -- dcpctl_cli
fi

run() {
  say ''
  say "\$ $*"
  "$@"
}

PATH="$root/build/release/bin:$PATH"
if [ $# -eq 2 ]; then
  run dcpctl dcp_to_torch "$source" "$target"
  run dcpctl inspect "$target"
else
  mkdir -p build/quickstart
  run dcpctl dcp_to_torch --force testdata/torch-2.13.0/recipe_fsdp2/ckpt build/quickstart/model.pt
  run dcpctl inspect build/quickstart/model.pt
fi
say ''
say "The program is $root/build/release/bin/dcpctl; 'dcpctl --help' lists its commands."
