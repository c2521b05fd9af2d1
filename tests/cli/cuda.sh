#!/bin/sh
# The plug-in for GPUs itself: where there is a GPU, what it writes equals what the processor writes; where there is
# none, it can be loaded, says so, and nothing is written.
# usage: cuda.sh PROGRAM PLUGIN_FOLDER TESTDATA
set -eu

program=$1
testdata=$3
DCPCTL_PLUGIN_DIR=$2
export DCPCTL_PLUGIN_DIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for source in "$testdata"/torch-2.13.0/*/ckpt; do
  status=0
  "$program" reshard -q --world-size 3 --device cuda "$source" "$folder/gpu" 2> "$folder/errors" || status=$?
  case $status in
    0)
      "$program" reshard -q --world-size 3 "$source" "$folder/cpu"
      diff -r "$folder/cpu" "$folder/gpu"
      echo "ok $source on a GPU"
      rm -r "$folder/cpu" "$folder/gpu"
      ;;
    3)
      cat "$folder/errors"
      grep -q '^dcpctl: error: device "cuda" cannot be used: ' "$folder/errors"
      [ ! -e "$folder/gpu" ]
      echo 'ok: no GPU here'
      exit 0
      ;;
    *)
      cat "$folder/errors"
      exit 1
      ;;
  esac
done
