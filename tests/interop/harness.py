"""What the interop scripts share: options, the report, running dcpctl."""
import argparse
import os
import pathlib
import subprocess
import sys

TIMEOUT = 120  # seconds for one run of dcpctl on these small inputs


def parse_arguments(description, **own_options):
    """The options that every script takes, and its own.

    own_options: the keywords of add_argument, by name.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--dcpctl", required=True, type=pathlib.Path,
                        help="the program")
    parser.add_argument("--testdata", required=True, type=pathlib.Path,
                        help="the folder testdata/")
    parser.add_argument("--only", metavar="CASE",
                        help="only this case (a version, a case, or both "
                             "with a slash between them)")
    for name, keywords in own_options.items():
        parser.add_argument(f"--{name}", **keywords)
    arguments = parser.parse_args()
    arguments.dcpctl = arguments.dcpctl.resolve()
    arguments.testdata = arguments.testdata.resolve()
    if not arguments.dcpctl.is_file():
        parser.error(f"{arguments.dcpctl} is no file")
    if not arguments.testdata.is_dir():
        parser.error(f"{arguments.testdata} is no folder")
    sys.path.insert(0, str(arguments.testdata))
    return arguments


def scratch():
    """A parent for many small files: in memory, where a sync costs nothing.

    None, which stands for the usual place, when there is no such folder.
    """
    memory = pathlib.Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


class Report:
    """Prints one line per check and counts them."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, ok, detail=""):
        """Report one check; detail is printed when it failed."""
        ok = bool(ok)
        self.passed += ok
        self.failed += not ok
        print(f"ok {name}" if ok else f"FAILED {name}: {detail}", flush=True)
        return ok

    def check_note(self, name, result, why):
        """The note on weights_only=False is there exactly where needed.

        why is the reason torch.load(weights_only=True) gives for refusing
        the file that the run wrote, None if it loads. Returns whether there
        is a note.
        """
        noted = b"weights_only=False: " in result.err
        if noted:
            self.check(f"{name} needs weights_only=False as noted",
                       why is not None, "it loads without")
        else:
            self.check(f"{name} needs no weights_only=False", why is None,
                       why)
        return noted

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped {name}: {why}", flush=True)

    def finish(self):
        """Print the counts; return the exit status."""
        if self.skipped:
            print(f"{self.skipped} skipped")
        if not (self.passed or self.failed or self.skipped):
            print("FAILED nothing was checked")
            self.failed += 1
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


class Result:
    """Exit status (negative: killed by that signal) and both streams."""

    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    def crashed(self):
        """Ended by a signal, by a sanitizer, or not at all."""
        return (self.status is None or self.status < 0
                or b"Sanitizer" in self.err)

    def summary(self):
        """Status and the first line of the messages, for a report."""
        if self.status is None:
            return f"still running after {TIMEOUT} s"
        lines = self.err.decode(errors="replace").strip().splitlines()
        return f"status {self.status}" + (f": {lines[0][:200]}" if lines
                                          else "")


def run(program, *arguments, cwd=None, limits=None):
    """Run dcpctl without a terminal; never raises for what it does."""
    try:
        done = subprocess.run(
            [str(program), *map(str, arguments)], cwd=cwd,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
            preexec_fn=limits)
    except subprocess.TimeoutExpired as e:
        return Result(None, e.stdout or b"", e.stderr or b"")
    return Result(done.returncode, done.stdout, done.stderr)
