"""Gives the program every input that pickles.py, zips.py, paths.py, metadata.py, sharing.py and collisions.py make, and
compares what it does with expected/*.txt: the status of inspect, verify --payload and a conversion, and the first thing
each says.

usage: hostile_test.py PROGRAM [--rebase] [--unlimited] [NAME...]
  --rebase     write what happened to expected/*.txt; look at the difference
  --unlimited  for builds with sanitizers: no run has to stay below a second and 100 MiB

Whatever the input, a run ends by itself, prints no control characters, leaves nothing behind but its output, and a
conversion that fails leaves none. Where strace may be used, no run starts a program or opens a connection.
"""
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback

from generate import CASES

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("pickles", "zips", "paths", "metadata")
MOST_SECONDS = 1.0  # of processor time, of the best of TRIES: other work on the machine takes its share of that, too
TRIES = 3
MOST_KIB = 100 << 10
# What reading must not come to: another program or process, a connection. Threads are neither.
FORBIDDEN = "execve,execveat,fork,vfork,socket,connect"
HANGS_AFTER = 60  # seconds; of sanitizers, too
# Checkpoints with nothing wrong but their size: they are looked at, and not converted, which is as much work as there is
# to write.
ONLY_LOOKED_AT = {"metadata/million_empty_tensors"}
# Also in every text for people: no C0 but newlines, no DEL, no C1.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]")
LINE = 200


class Run:
    """One run of the program in the current folder."""

    def __init__(self, *args):
        self.args = args
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            guard = threading.Timer(HANGS_AFTER, child.kill)
            guard.start()
            _, status, usage = os.wait4(child.pid, 0)
            guard.cancel()
            child.returncode = self.status = os.waitstatus_to_exitcode(status)
            self.out, self.err = (self.read(file) for file in (out, err))
        self.seconds = usage.ru_utime + usage.ru_stime
        self.kib = usage.ru_maxrss

    @staticmethod
    def read(file):
        file.seek(0)
        return file.read(1 << 20).decode("utf-8", "replace")

    def says(self):
        """The first error or warning, in one line."""
        for line in (self.err + self.out).splitlines():
            if re.search("(error|warning): ", line):
                line = re.sub("[0-9]+ bytes are free", "N bytes are free", line)  # not the input's doing
                return line if len(line) <= LINE else line[:LINE] + "..."
        return ""

    def trouble(self, unlimited):
        """What is wrong whatever the input."""
        if self.status < 0:
            yield f"ended by signal {-self.status}" + (": it hangs" if self.status == -signal.SIGKILL else "")
        elif self.status not in (0, 1, 3):
            yield f"status {self.status}"
        if self.status == 3 and not self.says():
            yield "status 3 and no message"
        found = CONTROL.search(self.err) or CONTROL.search(self.out)
        if found:
            yield f"prints the control character {found.group()!r}"
        if not unlimited and self.seconds > MOST_SECONDS:
            yield f"takes {self.seconds:.2f} s"
        if not unlimited and self.kib > MOST_KIB:
            yield f"takes {self.kib >> 10} MiB"


def fastest(run, tries):
    """The run, or one that stays below the limit where one of as many tries does. For runs that write nothing."""
    for _ in range(1, tries):
        if run.seconds <= MOST_SECONDS:
            break
        run = min(run, Run(*run.args), key=lambda some: some.seconds)
    return run


def forbidden_calls(program, path):
    """Those of a run that reads every byte; the first is that of the program itself."""
    with tempfile.NamedTemporaryFile() as trace:
        Run("strace", "-f", "--seccomp-bpf", "-qq", "-o", trace.name, "-e", "trace=" + FORBIDDEN, "-e", "signal=none",
            program, "verify", "--payload", path)
        calls = trace.read().decode("utf-8", "replace").splitlines()
    if not calls or "execve(" not in calls[0]:
        yield f"strace saw no program start: {calls[:1]}"
    for call in calls[1:]:
        yield f"calls {call}"


def can_trace():
    try:
        return Run("strace", "-qq", "-o", "/dev/null", "true").status == 0
    except FileNotFoundError:
        return False


def listing(folder):
    found = set()
    for root, folders, files in os.walk(folder):
        found.update(os.path.relpath(os.path.join(root, name), folder) for name in folders + files)
    return found


def commands(program, path, converts):
    """The converting command is the one for what the input pretends to be."""
    if path.endswith(".pt"):
        convert, target = "torch_to_dcp", "out"
    else:
        convert, target = "dcp_to_torch", "out.pt"
    looks = (("inspect", (program, "inspect", path), None), ("verify", (program, "verify", "--payload", path), None))
    return (*looks, (convert, (program, convert, "-q", path, target), target)) if converts else looks


def observe(program, path, unlimited, converts, traced):
    """What the three commands do: lines of the table, and what is wrong whatever they should do."""
    said, troubles, most = {}, [], (0.0, 0)
    for title, args, target in commands(program, path, converts):
        before = listing(".")
        run = Run(*args)
        if not target:
            run = fastest(run, 1 if unlimited else TRIES)
        made = listing(".") - before
        if target and run.status == 0:
            made = {name for name in made if name != target and not name.startswith(target + "/")}
        troubles += [f"{title}: {trouble}" for trouble in run.trouble(unlimited)]
        if made:
            troubles.append(f"{title}: leaves {sorted(made)} behind")
        if target and run.status == 0:
            check = Run(args[0], "verify", "--payload", target)
            if check.status != 0:
                troubles.append(f"{title}: verify of what it made says {check.status}: {check.says()}")
        said.setdefault(run.says(), []).append(f"{title} {run.status}")
        most = (max(most[0], run.seconds), max(most[1], run.kib))
    if traced:
        troubles += forbidden_calls(program, path)
    lines = [f"  {', '.join(runs)}" + (f": {message}" if message else "") for message, runs in said.items()]
    return lines, troubles, most


def read_expected(group):
    """Name -> lines."""
    table, name = {}, None
    path = os.path.join(HERE, "expected", group + ".txt")
    if not os.path.exists(path):
        return table
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("  "):
                table[name].append(line)
            elif line and not line.startswith("#"):
                name = line
                table[name] = []
    return table


def write_expected(group, table):
    with open(os.path.join(HERE, "expected", group + ".txt"), "w", encoding="utf-8") as file:
        file.write("# What must happen to each: commands, their status, the first thing they say. See ../hostile_test.py.\n")
        for name in sorted(table):
            file.write(name + "\n" + "".join(line + "\n" for line in table[name]))


def make(name, folder):
    """In a process of its own: the most memory that this one ever took would count as the program's."""
    path, result = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(result, CASES[name](folder).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(result)
    with open(path, encoding="utf-8") as file:
        made = file.read()
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{name} cannot be made")
    return made


def report_to_ctest(count, failures):
    """As the results of a GoogleTest program, for whoever counts them."""
    output = os.environ.get("GTEST_OUTPUT", "")
    if output.startswith("xml:") and output.endswith("/"):
        with open(output[4:] + "hostile_test.xml", "w", encoding="utf-8") as file:
            file.write(f'<testsuites tests="{count}" failures="{failures}" errors="0">\n</testsuites>\n')


def try_one(job):
    """What happens to one input, in a folder of its own."""
    program, name, unlimited, traced = job
    work = tempfile.mkdtemp(prefix="hostile")
    try:
        path = make(name, work)
        os.chdir(work)
        return name, *observe(program, path, unlimited, name not in ONLY_LOOKED_AT, traced)
    finally:
        os.chdir(HERE)
        shutil.rmtree(work)


def try_all(jobs):
    """One result for each, by name. What took too long is tried again when nothing else runs here: two processes on two
    threads of one core count more processor time than each of them alone."""
    jobs = sorted(jobs, key=lambda job: job[1])
    # More than there are cores: `verify` waits to see whether what is damaged still grows.
    with multiprocessing.Pool(4) as pool:
        results = pool.map(try_one, jobs, chunksize=1)
    slow = [result[3][0] > MOST_SECONDS and not unlimited for (_, _, unlimited, _), result in zip(jobs, results)]
    return [try_one(job) if again else result for job, result, again in zip(jobs, results, slow)]


def judge(results, expected, rebase):
    """Prints what is wrong; returns how many passed and failed, and the largest of what they took."""
    passed, failed, slowest, largest = 0, 0, (0.0, ""), (0, "")
    for name, lines, troubles, most in results:
        slowest, largest = max(slowest, (most[0], name)), max(largest, (most[1], name))
        if rebase:
            expected[name] = lines
        if expected.get(name) != lines:
            wanted = expected.get(name, ["  nothing"])
            troubles = [*troubles, "\n".join(["found", *lines, "expected", *wanted])]
        for trouble in troubles:
            print(f"FAILED {name}: {trouble}")
        failed += bool(troubles)
        passed += not troubles
    return passed, failed, slowest, largest


def main():
    args = sys.argv[1:]
    rebase, unlimited = "--rebase" in args, "--unlimited" in args
    program, *wanted = [arg for arg in args if not arg.startswith("--")]
    os.environ.update(LC_ALL="C.UTF-8", TZ="UTC")
    traced = can_trace()
    if not traced:
        print("strace is not there, or may not trace: what the program calls is not watched")
    jobs = [(os.path.abspath(program), name, unlimited, traced) for name in CASES if not wanted or name in wanted]
    results = try_all(jobs)
    passed, failed, slowest, largest = {}, 0, (0.0, ""), (0, "")
    for group in GROUPS:
        names = {name for name in CASES if name.startswith(group + "/")}
        expected = read_expected(group) if wanted or not rebase else {}
        for gone in sorted(set(expected) - names):
            failed += 1
            print(f"FAILED {gone}: expected, and nothing makes it")
        passed[group], bad, slow, large = judge([result for result in results if result[0] in names], expected, rebase)
        failed, slowest, largest = failed + bad, max(slowest, slow), max(largest, large)
        if rebase:
            write_expected(group, expected)
    print(", ".join(f"{group} {count}" for group, count in passed.items()))
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]}), largest {largest[0] >> 10} MiB ({largest[1]})")
    total = sum(passed.values())
    print(f"{total} of {total + failed} hostile inputs ended as they must")
    report_to_ctest(total + failed, failed)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
