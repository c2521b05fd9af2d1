#!/bin/sh
# Sources are only read. Each command runs on sources that it may not change, as a user who may write to the target
# alone and from a file system that is mounted for reading; and strace shows that it does not even try. A source that
# somebody else changes meanwhile is an error. What needs root, mounts or strace is skipped and counted where there is
# none.
# usage: sources.sh PROGRAM MAKE_CHECKPOINT
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
make_checkpoint=$2
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

suite=sources
# shellcheck source=tests/safety/checks.sh
. "$here/checks.sh"
# shellcheck source=tests/safety/commands.sh
. "$here/commands.sh"
# shellcheck source=tests/safety/inject.sh
. "$here/inject.sh"
show_files() { find out -ls; }

# Commands that write nothing.
readers() {
  echo inspect --chunks ckpt
  echo inspect --json model.pt
  echo verify --payload ckpt
  echo verify --payload model.pt
  echo compare ckpt model.pt
}

# Nobody may own what another user has not made, so a second name may be refused; and no name leads from one mount to
# another.
linked_or_refused() { { [ "$status" -eq 0 ] && is_complete; } || { [ "$status" -eq 3 ] && as_before && nothing_left; }; }

# each_command HOW PREFIX...: every command under the programs given
each_command() {
  how=$1
  shift
  for command in $COMMANDS; do
    select_command "$command" no
    prepare
    chmod 777 out
    status=0
    start "$@" "$program" > said 2> err || status=$?
    if [ "$command" = link ]; then
      check "$how: link does it or does nothing" linked_or_refused
    else
      check "$how: $command works, with status 0, not $status" [ "$status" -eq 0 ]
      check "$how: $command makes what it always makes" is_complete
    fi
  done
  while read -r words; do
    status=0
    # shellcheck disable=SC2086  # a list of words
    "$@" "$program" $words > said 2> err || status=$?
    check "$how: $words works" [ "$status" -eq 0 ]
  done < reader_list
  fingerprint > found
  check "$how: sources are what they were" cmp -s sources found
}

# Reading calls, and opening without a way to write, are all that is done about a source. Strace names what a
# descriptor is open on.
changes() {
  grep -E "[\"/](ckpt|lost|model\.pt)[\"/>]" trace | grep -v 'execve(' > about
  grep -E 'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND' about && return 0
  grep -E '^[0-9]+ +(p?write|ftruncate|fallocate|truncate|unlink|rename|link|symlink|chmod|chown|fchmod|fchown|utime|futime|setxattr|fsetxattr|removexattr|mkdir|rmdir)' about |
    grep -v '"out/' && return 0
  return 1
}
opens_sources() { grep -qE 'openat2?\(.*(distcp|model\.pt)' about; }
nothing_changes() { ! changes; }

traced() {
  for command in $COMMANDS; do
    select_command "$command" no
    prepare
    start strace -f -qq -y -o trace -e trace=%file,%desc "$program" > said 2> err
    check "no call of $command changes a source" nothing_changes
    check "the trace of $command shows sources" opens_sources
  done
  while read -r words; do
    # shellcheck disable=SC2086  # a list of words
    strace -f -qq -y -o trace -e trace=%file,%desc "$program" $words > said 2> err
    check "no call of $words changes a source" nothing_changes
  done < reader_list
}

# A source that changes while it is read: strace holds the command at a write, after it has looked at the source and
# before it has seen that all is as it was.
changed() { # changed COMMAND HOW FILE
  select_command "$1" no
  words=$(words_of "$1" | sed 's/ckpt/changing\/ckpt/; s/lost/changing\/lost/; s/model.pt/changing\/model.pt/')
  rm -rf changing out
  mkdir changing out
  # shellcheck disable=SC2086  # a list of words
  cp -a $SOURCES changing
  chmod -R u+w changing
  start strace -f -qq -o trace -e trace=pwrite64 -e inject=pwrite64:delay_enter=700000:when=1 "$program" 2> err &
  runner=$!
  tries=0
  while [ $tries -lt 100 ] && [ -z "$(left_over)" ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  sleep 0.2
  case $2 in
    shrinks) truncate -s -1 "changing/$3" ;;
    grows) echo more >> "changing/$3" ;;
    'is touched') touch "changing/$3" ;;
    'is replaced') cp "changing/$3" other && mv other "changing/$3" ;;
  esac
  status=0
  wait $runner || status=$?
  check "$1: $3 that $2 meanwhile is an error, not $status" [ "$status" -eq 3 ]
  check "$1: $3 that $2 meanwhile is named" grep -q "^changing/$3.*: error: " err
  check "$1: $3 that $2 meanwhile: nothing is made" as_before
  check "$1: $3 that $2 meanwhile: nothing is left" nothing_left
}

changing() {
  for how in shrinks grows 'is touched' 'is replaced'; do
    changed dcp_to_torch "$how" ckpt/__1_0.distcp
    changed torch_to_dcp "$how" model.pt
    changed reshard "$how" ckpt/__0_0.distcp
    changed copy "$how" ckpt/__1_0.distcp
    changed metadata-only "$how" ckpt/__0_0.distcp
  done
  changed reshard 'is touched' ckpt/.metadata
}

make_sources
for command in $COMMANDS; do make_good "$command"; done
readers > reader_list
# shellcheck disable=SC2086  # a list of words
chmod -R a-w,a+rX $SOURCES
fingerprint > sources
: > err
: > trace

nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" -ne 0 ]; then
  each_command 'without permission'
elif $nobody "$program" --version > /dev/null 2>&1; then
  # shellcheck disable=SC2086  # a list of words
  each_command 'as another user' $nobody
else
  echo 'no other user can run the program: skipped sources without permission to write'
  skipped=$((skipped + 1))
fi

cat > mounted << 'END'
#!/bin/sh
set -e
for source in ckpt lost model.pt; do
  mount --bind $source $source
  mount -o remount,bind,ro $source
done
if touch ckpt/new 2> /dev/null; then exit 9; fi
exec "$@"
END
chmod +x mounted
if unshare -m ./mounted true > /dev/null 2>&1; then
  each_command 'mounted for reading' unshare -m ./mounted
else
  echo 'mounts cannot be made: skipped sources on a file system that is read-only'
  skipped=$((skipped + 1))
fi

if can_trace; then
  traced
  changing
else
  echo 'strace is not there, or may not trace: skipped what calls do to sources, and sources that change'
  skipped=$((skipped + 1))
fi
finish
