# Functions that cmd/quickstart.sh and tests/run.sh share; sourced, not run. POSIX sh.
# shellcheck shell=sh

# What the program needs to be built; tests/run.sh adds to it.
# shellcheck disable=SC2034  # used by the scripts that source this file
BUILD_PACKAGES='g++ cmake ninja-build pkg-config libcli11-dev nlohmann-json3-dev libspdlog-dev libexpected-dev
  libzstd-dev libisal-dev zlib1g-dev libssl-dev'

say() { printf '%s\n' "$*"; }

die() {
  printf '%s: error: %s\n' "$0" "$*" >&2
  exit 3
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo > /dev/null 2>&1; then
    sudo "$@"
  else
    die "neither root nor sudo: run this first: $*"
  fi
}

# Prints those of its arguments that are not installed.
missing_packages() {
  for package in "$@"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2> /dev/null) || status=
    [ "$status" = 'install ok installed' ] || printf ' %s' "$package"
  done
}

# Installs those of its arguments that are not installed, after saying so; needs no network when none is missing.
install_packages() {
  if ! command -v dpkg-query > /dev/null 2>&1; then
    say "Not a Debian system. These packages, or what they are called here, must be installed: $*"
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  say "These Debian packages are missing and will now be installed:$missing"
  as_root apt-get -q update || say 'apt-get update failed; going on with the package lists that are there'
  # shellcheck disable=SC2086  # one word each
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
}

# configure_and_build PRESET [CMake option...] [-- TARGET...]
configure_and_build() {
  preset=$1
  shift
  options=
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  [ $# -eq 0 ] || shift
  # shellcheck disable=SC2086  # options without spaces
  cmake --preset "$preset" $options || return 1
  if [ $# -gt 0 ]; then
    cmake --build --preset "$preset" --target "$@"
  else
    cmake --build --preset "$preset"
  fi
}
