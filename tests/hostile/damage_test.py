"""Damages the sample checkpoints at random and compares what verify --payload says with what a conversion does: what
verify does not fail converts, and a conversion that succeeds writes what it would have written without the damage.

usage: damage_test.py PROGRAM [--seed N] [--runs N]

Left out, when it comes to what is written: `.metadata`, for a name in it may be another name now, and what has no
checksums, as the stream form of torch.save. When a transform has another name, or two keys have the same, verify
warns and a conversion refuses.
"""
import argparse
import hashlib
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile

TESTDATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testdata")
MARKS = (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"\x80\x02")  # of zip records and pickles
EXTREMES = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\0\x80")


def find_sources():
    """DCP directories and torch.save archives."""
    for release in sorted(os.listdir(TESTDATA)):
        if not release.startswith("torch-"):
            continue
        for folder, _, files in os.walk(os.path.join(TESTDATA, release)):
            if ".metadata" in files:
                yield folder
            yield from (os.path.join(folder, name) for name in sorted(files)
                        if name.endswith(".pt") and "legacy" not in name)


def files_of(path):
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


def digest_of(path):
    digest = hashlib.sha256()
    for name in files_of(path):
        with open(name, "rb") as file:
            digest.update(os.path.relpath(name, path).encode() + b"\0" + file.read())
    return digest.hexdigest()


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def damage(data):
    """Changes bytes of a bytearray; returns in words what it did."""
    at = random.randrange(len(data))
    if random.random() < 0.4:  # bytes that mean something are few
        found = data.find(random.choice(MARKS), random.randrange(len(data)))
        if found >= 0:
            at = min(len(data) - 1, found + random.randrange(48))
    kind = random.choice(("bit", "byte", "cut", "insert", "extreme", "copy"))
    if kind == "bit":
        data[at] ^= 1 << random.randrange(8)
    elif kind == "byte":
        data[at] = random.randrange(256)
    elif kind == "cut":
        del data[at:at + random.randrange(1, 9)]
    elif kind == "insert":
        data[at:at] = random.randbytes(random.randrange(1, 9))
    elif kind == "extreme":
        data[at:at + 4] = random.choice(EXTREMES)
    else:
        begin, length = random.randrange(len(data)), random.randrange(1, 200)
        data[at:at + length] = data[begin:begin + length]
    return f"{kind} at {at:#x}"


class Tester:
    def __init__(self, program, work):
        self.program = os.path.abspath(program)
        self.output = os.path.join(work, "output")
        self.work = work
        self.whole = {}  # source -> digest of what it converts to; nothing where it does not

    def run(self, *args):
        done = subprocess.run((self.program, *args), capture_output=True, check=False, timeout=60)
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")

    def convert(self, path):
        remove(self.output)
        return self.run("dcp_to_torch" if os.path.isdir(path) else "torch_to_dcp", "-q", path, self.output)

    def digest_of_whole(self, source):
        if source not in self.whole:
            good = self.run("verify", "--payload", source)[0] == 0 and self.convert(source)[0] == 0
            self.whole[source] = digest_of(self.output) if good else None
        return self.whole[source]

    def try_one(self, source):
        """What was done, and what is wrong; nothing for a source that does not convert or is empty."""
        expected = self.digest_of_whole(source)
        copy = os.path.join(self.work, "damaged" + (".pt" if os.path.isfile(source) else ""))
        remove(copy)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, copy)
        names = files_of(copy)
        name = random.choice([*names, *(name for name in names if name.endswith(".metadata"))])
        with open(name, "rb") as file:
            data = bytearray(file.read())
        if expected is None or not data:
            return None
        what = f"{os.path.relpath(source, TESTDATA)} {os.path.relpath(name, copy)}: {damage(data)}"
        with open(name, "wb") as file:
            file.write(data)
        return what, list(self.troubles(copy, expected, may_differ=name.endswith(".metadata")))

    def troubles(self, copy, expected, may_differ):
        verified, findings = self.run("verify", "--payload", copy)
        converted, message = self.convert(copy)
        inspected, _ = self.run("inspect", copy)
        if not {verified, converted, inspected} <= {0, 1, 3}:
            yield f"statuses are {verified}, {converted}, {inspected}"
        if converted != 0 and os.path.exists(self.output):
            yield "a conversion that failed left something"
        renamed = "dcp.transform-unknown" in findings or "dcp.key-collision" in findings
        if verified == 0 and converted != 0 and not renamed:
            yield "verify does not fail what does not convert: " + message
        may_differ = may_differ or "payload.unknown-checksum" in findings
        if converted == 0 and not may_differ and digest_of(self.output) != expected:
            yield "something else was written; verify says: " + findings


def try_some(job):
    """How many passed, and what is wrong with the others."""
    program, seed, runs = job
    random.seed(seed)
    sources = list(find_sources())
    with tempfile.TemporaryDirectory(prefix="damage") as work:
        tester = Tester(program, work)
        outcomes = [tester.try_one(random.choice(sources)) for _ in range(runs)]
    outcomes = [outcome for outcome in outcomes if outcome]
    return (sum(not troubles for _, troubles in outcomes),
            [f"{what}: {trouble}" for what, troubles in outcomes for trouble in troubles])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20_000 if os.environ.get("DCPCTL_LONG") else 400)
    arguments = parser.parse_args()
    passed, failures = 0, []
    # More than there are cores: `verify` waits to see whether what is damaged still grows.
    workers = 4
    jobs = [(arguments.program, f"{arguments.seed}/{i}", arguments.runs // workers) for i in range(workers)]
    with multiprocessing.Pool(workers) as pool:
        for some_passed, some_failures in pool.imap(try_some, jobs):
            passed += some_passed
            failures += some_failures
    for failure in failures:
        print("FAILED " + failure)
    print(f"{passed} passed, {len(failures)} failed, seed {arguments.seed}")
    # Most sources can be converted.
    sys.exit(bool(failures) or passed < arguments.runs // 2)


if __name__ == "__main__":
    main()
