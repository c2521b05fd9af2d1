"""verify, judged by damage done on purpose: each kind is found, by its name.

A checkpoint that PyTorch wrote is broken in one way after the other; then
bits of its tensors are flipped, and the finding must name the tensor.
"""
import io
import json
import pathlib
import pickle
import random
import shutil
import struct
import sys
import tempfile
import zipfile

import torch
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata, MetadataIndex)

import harness

CASE = "torch-2.13.0/recipe_fsdp2/ckpt"
LOCAL_HEADER = struct.Struct("<26xHH")  # lengths of the name and the extra


class Evil:
    def __reduce__(self):
        import os
        return os.system, ("true",)


class Broken:
    """A copy of the checkpoint, and ways to break it."""

    def __init__(self, sound, folder):
        self.path = folder / "ckpt"
        shutil.copytree(sound, self.path)
        self.metadata_path = self.path / ".metadata"
        self.metadata = pickle.loads(self.metadata_path.read_bytes())
        self.tensors = sorted(
            (i for i in self.metadata.storage_data if i.offset is not None),
            key=lambda i: (i.fqn, tuple(i.offset)))
        # One that is cut over ranks.
        self.index = next(i for i in self.tensors if sum(
            i.fqn == j.fqn for j in self.tensors) > 2)
        self.entry = self.metadata.state_dict_metadata[self.index.fqn]

    def info(self, index=None):
        return self.metadata.storage_data[index or self.index]

    def set_info(self, index=None, **changes):
        info = self.info(index)
        fields = {k: getattr(info, k) for k in
                  ("relative_path", "offset", "length",
                   "transform_descriptors")}
        self.metadata.storage_data[index or self.index] = type(info)(
            **{**fields, **changes})

    def file(self, index=None):
        return self.path / self.info(index).relative_path

    def files(self):
        return sorted(self.path.glob("*.distcp"))

    def set_chunk(self, number, offsets=None, sizes=None):
        chunk = self.entry.chunks[number]
        self.entry.chunks[number] = ChunkStorageMetadata(
            offsets=torch.Size(offsets or chunk.offsets),
            sizes=torch.Size(sizes or chunk.sizes))

    def save(self):
        self.metadata_path.write_bytes(pickle.dumps(self.metadata))

    def record(self, index, name):
        """Where the bytes of a record of an archive are in the data file."""
        info = self.info(index)
        with open(self.file(index), "rb") as file:
            file.seek(info.offset)
            archive = file.read(info.length)
        found = next(i for i in zipfile.ZipFile(io.BytesIO(archive)).infolist()
                     if i.filename.endswith("/" + name))
        extra = sum(LOCAL_HEADER.unpack_from(archive, found.header_offset))
        place = found.header_offset + LOCAL_HEADER.size + extra
        return info.offset + place, found.file_size, info.offset + \
            found.header_offset

    def patch(self, path, place, change):
        data = bytearray(path.read_bytes())
        data[place] = change(data[place])
        path.write_bytes(data)


# Each breaks a checkpoint; the id of the finding that must be there.
def file_missing(b):
    b.file().unlink()
    return "dcp.file-missing"


def file_renamed(b):
    b.file().rename(b.path / "__9_0.distcp")
    return "dcp.file-missing"


def file_truncated(b):
    data = b.files()[0].read_bytes()
    b.files()[0].write_bytes(data[:-100])
    return "dcp.file-short"


def file_of_a_larger_run(b):
    shutil.copy(b.files()[0], b.path / "__7_0.distcp")
    return "dcp.file-unreferenced"


def files_swapped(b):
    first, second = b.files()[:2]
    first.rename(b.path / "x")
    second.rename(first)
    (b.path / "x").rename(second)
    return "dcp.record-damaged"


def chunk_left_out(b):
    del b.entry.chunks[0]
    b.save()
    return "dcp.coverage-hole"


def chunk_twice(b):
    b.set_chunk(1, offsets=b.entry.chunks[0].offsets)
    b.save()
    return "dcp.chunk-overlap"


def chunk_outside(b):
    size = b.entry.size
    b.set_chunk(0, offsets=[size[0] + 5] + [0] * (len(size) - 1))
    b.save()
    return "dcp.chunk-outside"


def tensor_larger(b):
    b.entry.size = torch.Size([b.entry.size[0] + 1, *b.entry.size[1:]])
    b.save()
    return "dcp.coverage-hole"


def shape_that_overflows(b):
    b.entry.size = torch.Size([2**62] * len(b.entry.size))
    b.save()
    return "dcp.shape-overflow"


def other_dtype(b):
    b.entry.properties.dtype = torch.int8
    b.save()
    return "dcp.record-differs"


def record_elsewhere(b):
    b.set_info(offset=b.info().offset + 64)
    b.save()
    return "dcp.record-damaged"


def record_cut(b):
    b.set_info(length=b.info().length - 64)
    b.save()
    return "dcp.record-damaged"


def record_missing(b):
    del b.metadata.storage_data[b.index]
    b.save()
    return "dcp.record-missing"


def record_unused(b):
    b.metadata.storage_data[MetadataIndex("nobody", torch.Size([0]), 0)] = \
        b.info()
    b.save()
    return "dcp.record-unused"


def records_in_one_place(b):
    same = [i for i in b.tensors if i.fqn == b.index.fqn]
    info = b.info(same[0])
    b.set_info(same[1], relative_path=info.relative_path, offset=info.offset,
               length=info.length)
    b.save()
    return "dcp.record-overlap"


def path_out_of_it(b):
    b.set_info(relative_path="../" + b.info().relative_path)
    b.save()
    return "dcp.path-refused"


def unknown_transform(b):
    b.set_info(transform_descriptors=["stream.rot13/1"])
    b.save()
    return "dcp.transform-unknown"


def bytes_behind(b):
    with open(b.files()[0], "ab") as file:
        file.write(b"junk" * 100)
    return "dcp.stray-bytes"


def archive_behind(b):
    with open(b.files()[0], "ab") as file:
        torch.save(torch.ones(3), file)
    return "dcp.orphan-archive"


def no_metadata(b):
    b.metadata_path.unlink()
    return "dcp.archives-without-metadata"


def unfinished(b):
    b.metadata_path.rename(b.path / ".metadata.tmp")
    return "dcp.unfinished"


def unfinished_metadata_beside(b):
    shutil.copy(b.metadata_path, b.path / ".metadata.tmp")
    return "dcp.unfinished-metadata"


def metadata_cut(b):
    b.metadata_path.write_bytes(b.metadata_path.read_bytes()[:-50])
    return "dcp.metadata-damaged"


def metadata_that_calls(b):
    b.metadata_path.write_bytes(pickle.dumps([b.metadata, Evil()]))
    return "dcp.metadata-refused"


def object_pickle(b):
    index = next(i for i in b.metadata.storage_data if i.offset is None)
    info = b.info(index)
    data = bytearray(b.file(index).read_bytes())
    place = data.index(b"\x80\x02", info.offset)
    data[place + 2] = 0xff
    b.file(index).write_bytes(data)
    return "dcp.record-damaged"


def append(b, index, archive):
    """Put an archive behind a data file, in the place of a record."""
    path = b.file(index)
    b.set_info(index, offset=path.stat().st_size, length=len(archive))
    with open(path, "ab") as file:
        file.write(archive)
    b.save()


def an_object(b):
    return next(i for i in b.metadata.storage_data if i.offset is None)


def object_that_calls(b):
    archive = io.BytesIO()
    torch.save(Evil(), archive)
    append(b, an_object(b), archive.getvalue())
    return "dcp.refused-name"


def object_that_is_no_pickle(b):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", b"\x80\x02nothing")
        file.writestr("archive/version", b"3\n")
    append(b, an_object(b), archive.getvalue())
    return "dcp.record-damaged"


def record_encrypted(b):
    archive = io.BytesIO()
    torch.save(torch.ones(3), archive)
    data = bytearray(archive.getvalue())
    for signature, place in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        at = data.find(signature)
        while at >= 0:
            data[at + place] |= 1
            at = data.find(signature, at + 4)
    append(b, an_object(b), bytes(data))
    return "dcp.record-damaged"


def record_of_zeros(b):
    info = b.info()
    data = bytearray(b.file().read_bytes())
    data[info.offset:info.offset + info.length] = bytes(info.length)
    b.file().write_bytes(data)
    return "dcp.record-damaged"


def local_header(b):
    place = b.record(b.index, "data/0")[2]
    b.patch(b.file(), place + 18, lambda byte: byte ^ 0xff)  # its size
    return "zip.header-differs"


def directory_of_the_archive(b):
    info = b.info()
    b.patch(b.file(), info.offset + info.length - 10, lambda byte: byte ^ 0xff)
    return "dcp.record-damaged"


def payload(b):
    b.patch(b.file(), b.record(b.index, "data/0")[0], lambda byte: byte ^ 1)
    return "payload.crc"


FAULTS = [
    file_missing, file_renamed, file_truncated, file_of_a_larger_run,
    files_swapped, chunk_left_out, chunk_twice, chunk_outside, tensor_larger,
    shape_that_overflows, other_dtype, record_elsewhere, record_cut,
    record_missing, record_unused, records_in_one_place, path_out_of_it,
    unknown_transform, bytes_behind, archive_behind, no_metadata, unfinished,
    unfinished_metadata_beside, metadata_cut, metadata_that_calls,
    object_pickle, object_that_calls, object_that_is_no_pickle,
    record_encrypted, record_of_zeros, local_header, directory_of_the_archive, payload]
# Leftovers and saves that go on are told apart from damage, but not ignored.
WARNINGS = {"dcp.file-unreferenced", "dcp.stray-bytes", "dcp.orphan-archive",
            "dcp.unfinished-metadata", "dcp.record-unused",
            "dcp.transform-unknown", "dcp.record-unsupported"}


def verify(arguments, path, *options):
    result = harness.run(arguments.dcpctl, "verify", "--json", "--payload",
                         *options, path)
    try:
        return result, json.loads(result.out)
    except ValueError:
        return result, {"findings": [], "ok": None}


def check_faults(arguments, report, sound):
    seen = set()
    for fault in FAULTS:
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
            broken = Broken(sound, pathlib.Path(folder))
            expected = fault(broken)
            result, found = verify(arguments, broken.path)
            ids = sorted({f["id"] for f in found["findings"]})
            seen.add(expected)
            report.check(f"{fault.__name__}: {expected}", expected in ids,
                         f"{ids} {result.summary()}")
            strict = harness.run(arguments.dcpctl, "verify", "--payload",
                                 "--strict", broken.path)
            report.check(f"{fault.__name__}: status 1 with --strict",
                         strict.status == 1, strict.summary())
            if expected not in WARNINGS:
                report.check(f"{fault.__name__}: status 1",
                             result.status == 1 and found["ok"] is False,
                             result.summary())
    print(f"{len(FAULTS)} faults with {len(seen)} names")


def check_flips(arguments, report, sound, count):
    """Bits of the payload; the finding names file and tensor."""
    rng = random.Random(count)
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as folder:
        broken = Broken(sound, pathlib.Path(folder))
        places = []
        for index in broken.tensors:
            first, size, _ = broken.record(index, "data/0")
            places += [(index, first + i) for i in range(size)]
        missed = []
        for _ in range(count):
            index, place = rng.choice(places)
            bit = 1 << rng.randrange(8)
            broken.patch(broken.file(index), place, lambda b: b ^ bit)
            result, found = verify(arguments, broken.path)
            hits = [f for f in found["findings"] if f["id"] == "payload.crc"]
            right = (result.status == 1 and len(hits) == 1
                     and hits[0]["file"] == broken.info(index).relative_path
                     and hits[0]["key"] == index.fqn)
            if not right:
                missed.append((index.fqn, place, bit, found["findings"]))
            broken.patch(broken.file(index), place, lambda b: b ^ bit)
        report.check(f"{count} flipped bits of {len(places) * 8} are found",
                     not missed, missed[:3])
        result, found = verify(arguments, broken.path, "--strict")
        report.check("as it was: nothing is found", result.status == 0,
                     result.summary())


def main():
    arguments = harness.parse_arguments(
        __doc__.splitlines()[0],
        flips=dict(type=int, default=200, help="bits to flip"))
    report = harness.Report()
    sound = arguments.testdata / CASE
    check_faults(arguments, report, sound)
    check_flips(arguments, report, sound, arguments.flips)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
