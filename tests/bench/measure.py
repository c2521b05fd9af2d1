"""Runs a command several times and prints `median-seconds peak-MiB`.

usage: measure.py RUNS OUTPUT COMMAND...
OUTPUT is removed before each run and after the last, and earlier writes are
brought to the disk first, outside the time. Standard output of the command
goes nowhere. Ends with 1 when the command fails. The peak is the largest of
all runs, and never below that of this script (about 10 MiB).
"""
import os
import shutil
import statistics
import sys
import time


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def run(command):
    """Seconds and peak KiB."""
    null = os.open(os.devnull, os.O_WRONLY)
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    os.close(null)
    if status != 0:
        sys.exit(f"measure.py: {' '.join(command)}: "
                 f"status {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_maxrss


def main():
    runs, output, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    results = []
    for _ in range(runs):
        if output:
            remove(output)
            os.sync()
        results.append(run(command))
    if output:
        remove(output)
    print(f"{statistics.median(r[0] for r in results):.6f} "
          f"{max(r[1] for r in results) / 1024:.1f}")


if __name__ == "__main__":
    main()
