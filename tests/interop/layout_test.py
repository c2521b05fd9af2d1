"""The table of boxes that the C++ tests trust is what PyTorch computes now.

tests/mesh/torch_boxes.json was made by one version of PyTorch; each of its
cases is asked again here. Strided shards are a private part of PyTorch that
has changed before: they are left out for versions older than the table's.
"""
import json
import pathlib
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "mesh"))
import make_torch_boxes  # noqa: E402  # it needs the path above
import torch  # noqa: E402


def parse_version(text):
    return tuple(map(int, text.split(".")[:2]))


def main():
    arguments = harness.parse_arguments(__doc__)
    report = harness.Report()
    table = json.loads(make_torch_boxes.TABLE.read_text())
    is_older = (parse_version(torch.__version__)
                < parse_version(table["torch"]))
    for i, case in enumerate(table["cases"]):
        name = f"{case['shape']} over {case['mesh']} {case['placements']}"
        if arguments.only not in (None, str(i)):
            continue
        if "elements" in case and is_older:
            report.skip(name, f"PyTorch {torch.__version__}")
            continue
        expected = {key: case[key] for key in ("ranks", "elements")
                    if key in case}
        found = make_torch_boxes.answer(case["shape"], case["mesh"],
                                        case["placements"])
        report.check(name, found == expected, f"case {i} is now {found}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
