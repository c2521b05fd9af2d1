"""Compare a converted file with what a checkpoint is known to hold.

Usage: python check.py CONVERTED.pt EXPECTED.json [FILE_NAME]

PyTorch loads CONVERTED.pt; every entry of EXPECTED.json (of the file FILE_NAME
in it, for files/expected.json) must be there with the same kind and value.
Exit status 0 when equal.
"""
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate  # noqa: E402

# Types whose repr is the value; other objects are compared by type only.
EXACT = {"int", "float", "str", "bool", "NoneType", "bytes", "tuple", "list",
         "complex"}


def make_classes_importable():
    """Put the classes of generate.py where the pickles look for them."""
    for name in ("TrainerState", "Phase"):
        setattr(sys.modules["__main__"], name, getattr(generate, name))


def entry_difference(want, got):
    """What is wrong with one entry, or None."""
    if got is None:
        return "missing"
    if want["kind"] != got["kind"]:
        return f"is a {got['kind']}"
    if want["kind"] == "tensor":
        if (got["dtype"], got["shape"]) != (want["dtype"], want["shape"]):
            return f"{got['dtype']}{got['shape']}"
        if want["sha256"] and got["sha256"] != want["sha256"]:
            return "bits differ"
        return None
    by_value = want["type"] in EXACT and "tensor(" not in want["repr"]
    if want["type"] != got["type"] or (
            by_value and want["repr"] != got["repr"]):
        return f"{got['type']} {got['repr'][:40]}"
    return None


def differences(got, document, file_name=None):
    """(number of expected entries, differences) for a loaded object.

    Keys that are not listed are a difference too, unless the document has a
    note that says the list is partial and does not say "complete".
    """
    want = (document["files"][file_name] if file_name
            else document["entries"])
    got = generate.describe(got)
    bad = []
    for key, entry in want.items():
        problem = entry_difference(entry, got.get(key))
        if problem:
            bad.append(f"{key!r} {problem}")
    if not document.get("note") or document.get("complete"):
        extra = [k for k in got if k not in want]
        if extra:
            bad.append(f"extra {extra[:3]}")
    return len(want), bad


def main(argv):
    if len(argv) not in (3, 4):
        sys.exit(__doc__)
    make_classes_importable()
    got = torch.load(argv[1], weights_only=False, map_location="cpu")
    document = json.loads(pathlib.Path(argv[2]).read_text())
    count, bad = differences(got, document, *argv[3:])
    print("; ".join(bad)[:300] if bad else f"{count} entries equal")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
