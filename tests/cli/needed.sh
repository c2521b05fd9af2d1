#!/bin/sh
# Fails when the program is linked with a library that is not in this list: LibTorch, CUDA and MPI are loaded
# on first need, never linked, and a new dependency is a decision.
# usage: needed.sh PROGRAM
set -eu

trouble=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | while read -r name; do
  case $name in
    libc.so.* | libm.so.* | libgcc_s.so.* | libstdc++.so.* | ld-linux-*) ;;
    libz.so.* | libzstd.so.* | libisal.so.* | libspdlog.so.* | libfmt.so.*) ;;
    libasan.so.* | libubsan.so.* | libtsan.so.*) ;;
    *) echo "$1 needs $name, which is not in the list of $0" ;;
  esac
done)
[ -z "$trouble" ] || { echo "$trouble"; exit 1; }
