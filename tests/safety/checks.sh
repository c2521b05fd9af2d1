#!/bin/sh
# What the scripts of this folder share: checks that are counted, in the folder where they run.
# usage: . checks.sh; set suite to the name of the ctest, and define show_files if the folder has more than is of use

: "${suite:?}"
passed=0
failed=0
skipped=0

show_files() { find . -ls; }

check() { # check NAME COMMAND...
  name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    show_files | sed 's/^/  /'
    sed 's/^/  /' err
  fi
}

# Counted as the tests of a GoogleTest program are, for whoever asked for that.
finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  case ${GTEST_OUTPUT:-} in
    xml:*/)
      {
        echo "<testsuites tests=\"$((passed + failed + skipped))\" failures=\"$failed\" errors=\"0\">"
        i=0
        while [ $i -lt $skipped ]; do
          echo "<testcase name=\"$suite\" result=\"skipped\" />"
          i=$((i + 1))
        done
        echo '</testsuites>'
      } > "${GTEST_OUTPUT#xml:}${suite}_test.xml"
      ;;
  esac
  [ "$failed" -eq 0 ]
}
