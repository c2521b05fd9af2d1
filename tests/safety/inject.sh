#!/bin/sh
# Runs under strace, which makes one call of the selected command fail or kill it.
# usage: . inject.sh, after commands.sh

: "${program:?}"
status=0

can_trace() { strace -o /dev/null true 2> /dev/null; }

# record CALL...: runs the command and notes its calls of these kinds
record() {
  start strace -f -q -o calls -e trace="$(echo "$*" | tr ' ' ,)" "$program" > said
}

# points CALL: numbers of those that were noted, as strace counts them, by thread. Of files that are opened only
# those that are made: the others are sources and libraries.
points() {
  awk -v call="$1" '
    $2 ~ "^" call "\\(" {
      number = ++count[$1]
      if (call != "openat" || /O_CREAT/) seen[number] = 1
    }
    END { for (number in seen) print number }' calls | sort -n
}

# inject CALL WHAT: sets status, said and err. Not with --seccomp-bpf: that delivers no signals.
inject() {
  status=0
  # shellcheck disable=SC2034  # for the scripts
  # In braces, so that "Killed", which the shell says, goes to the file as well.
  { start strace -f -q -o trace -e trace="$1" -e inject="$1:$2" "$program"; } > said 2> err || status=$?
}

# Whether the last run came to that call: strace marks what it changed.
reached() { grep -qE 'INJECTED|killed by' trace; }
