#!/bin/sh
# The commands that write, in small: what they are given, what they make of it, and what a run that did not end well
# may leave.
# usage: . commands.sh, after checks.sh, in an empty folder; $program, $make_checkpoint

: "${program:?}" "${make_checkpoint:?}"

# shellcheck disable=SC2034  # for the scripts
COMMANDS='dcp_to_torch torch_to_dcp reshard reshard-zstd convert copy link metadata-only repair manifest'

# Everything that is only read. `before` is what --force replaces.
make_sources() {
  "$make_checkpoint" ckpt 4
  "$make_checkpoint" before 1
  "$program" dcp_to_torch -q ckpt model.pt
  cp -a ckpt lost
  rm lost/.metadata
}

SOURCES='ckpt lost model.pt'
# A second name for a file is no change to it, so neither number nor time of those counts.
# shellcheck disable=SC2086  # a list of words
fingerprint() { find $SOURCES -type f -exec sha256sum {} + -exec stat -c '%n %i %s %y %A' {} + | sort; }

# words_of COMMAND: its command line
words_of() {
  case $1 in
    dcp_to_torch) echo dcp_to_torch ckpt out/new ;;
    torch_to_dcp) echo torch_to_dcp --world-size 2 model.pt out/new ;;
    reshard) echo reshard --world-size 3 ckpt out/new ;;
    reshard-zstd) echo reshard --world-size 2 --zstd=1 ckpt out/new ;;
    convert) echo convert --to dcp ckpt out/new ;;
    copy) echo convert --to dcp --data copy ckpt out/new ;;
    link) echo convert --to dcp --data link ckpt out/new ;;
    metadata-only) echo convert --to dcp ckpt --metadata-only out/new ;;
    repair) echo repair lost --like ckpt -o out/new ;;
    manifest) echo verify --manifest out/new ckpt ;;
  esac
}

makes_directory() {
  case $1 in
    dcp_to_torch | metadata-only | repair | manifest) false ;;
    *) true ;;
  esac
}

# What --force may be: nothing, or that.
forces_of() {
  case $1 in
    repair) echo no ;;
    *) echo no --force ;;
  esac
}

# select_command COMMAND no|--force: what the functions below are about
select_command() {
  command=$1
  force=${2#no}
  words=$(words_of "$command")
  # shellcheck disable=SC2034  # for the scripts
  about="$command${force:+ $force}"
}

quiet=-q # or nothing, to see warnings
# start PREFIX...: runs it, under other programs. One thread, so that its calls come in one order.
# shellcheck disable=SC2086  # lists of words
start() { "$@" $words $quiet -j 1 --memory 4MiB $force; }

prepare() { # an empty folder, or one with something to replace
  rm -rf out
  mkdir out
  if [ -z "$force" ]; then return; fi
  if makes_directory "$command"; then cp -r before out/new; else echo old > out/new; fi
}

# make_good COMMAND: good/COMMAND is what it makes when nothing happens
make_good() {
  select_command "$1" no
  prepare
  start "$program" > said
  mkdir -p good
  mv out/new "good/$1"
}

same_tree() { diff -r "$1" "$2" > /dev/null 2>&1; }
is_complete() { same_tree out/new "good/$command"; }
as_before() {
  if [ -z "$force" ]; then
    [ ! -e out/new ]
  elif makes_directory "$command"; then
    same_tree out/new before
  else
    [ "$(cat out/new)" = old ]
  fi
}
whole_or_as_before() { is_complete || as_before; }

left_over() { find out -mindepth 1 -maxdepth 1 ! -name new; }
nothing_left() { [ -z "$(left_over)" ]; }
at_most_one_left() { [ "$(left_over | wc -l)" -le 1 ]; }
# What is left of one, under whatever name, has metadata only with all that the metadata tells of.
no_half_checkpoint() {
  for left in $(left_over); do
    if [ -e "$left/.metadata" ] && ! same_tree "$left" "good/$command" && ! same_tree "$left" before; then return 1; fi
  done
}
