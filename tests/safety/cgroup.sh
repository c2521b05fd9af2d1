#!/bin/sh
# A memory cgroup for one process: all that the kernel gives it counts, the page cache of its files too, and it is killed
# when it needs more. For whoever may make one; both versions of cgroups.
# usage: . cgroup.sh
#   open_cgroup MIB         makes one; false when that is not allowed
#   in_cgroup COMMAND...    runs the command in it
#   cgroup_peak             the most bytes that anything in it had
#   close_cgroup

cgroup=''

# make_cgroup FOLDER FILE LIMIT: below FOLDER, with a limit that the kernel takes
make_cgroup() {
  cgroup=$1/dcpctl-test-$$
  if mkdir "$cgroup" && echo "$3" > "$cgroup/$2" && in_cgroup true; then return; fi 2> /dev/null
  rmdir "$cgroup" 2> /dev/null
  cgroup=''
  return 1
}

open_cgroup() {
  bytes=$(($1 << 20))
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    for folder in "$own" /sys/fs/cgroup; do
      { echo +memory > "$folder/cgroup.subtree_control"; } 2> /dev/null
      make_cgroup "$folder" memory.max $bytes || continue
      { echo 0 > "$cgroup/memory.swap.max"; } 2> /dev/null
      return
    done
  else
    own=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    for folder in "$own" /sys/fs/cgroup/memory; do
      make_cgroup "$folder" memory.limit_in_bytes $bytes || continue
      { echo $bytes > "$cgroup/memory.memsw.limit_in_bytes"; } 2> /dev/null
      return
    done
  fi
  return 1
}

# The shell of its own goes in and becomes the command.
in_cgroup() { sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$cgroup" "$@"; }

cgroup_peak() { cat "$cgroup/memory.peak" 2> /dev/null || cat "$cgroup/memory.max_usage_in_bytes"; }

close_cgroup() {
  if [ -n "$cgroup" ]; then rmdir "$cgroup"; fi
  cgroup=''
}
