"""Compressed pickles: a few KiB that become as much as a pickle may have, or more."""
import struct
import zlib

from cases import GOOD_DATA, case, dict_of, instance, integer, list_of, storage, tensor, text, tuple_of, write
from metadata import ITEM, MODULE, STORAGE_MODULE, Checkpoint, made, size
from zips import DEFLATED, Record, archive, bomb, end_record, file_of

# A pickle is these around values. The most of them that are taken from anything compressed.
BEGIN, END = b"\x80\x02", b"."
MOST_VALUES = (12 << 20) - len(BEGIN + END)


# ---------------------------------------------------------------- deflate

def deflated_pickle(folder, value, count):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed, crc = b"", 0
    for part in (BEGIN, *[value * (1 << 20)] * (count >> 20), value * (count % (1 << 20)), END):
        packed += packer.compress(part)
        crc = zlib.crc32(part, crc)
    packed += packer.flush()
    pickle = Record("archive/data.pkl", packed, method=DEFLATED, bytes=len(BEGIN) + count + len(END), crc=crc)
    return file_of(folder, bomb(pickle, Record("archive/data/0", GOOD_DATA)))


@case("zips")
def deflated_dicts(folder):
    """Each is a byte here and takes sixteen in memory."""
    return deflated_pickle(folder, b"}", MOST_VALUES)


@case("zips")
def deflated_nones(folder):
    return deflated_pickle(folder, b"N", MOST_VALUES)


@case("zips")
def deflated_lists_of_256_mebibytes(folder):
    return deflated_pickle(folder, b"]", 1 << 28)


# ---------------------------------------------------------------- zstd

BLOCK = 128 << 10


def zstd(*parts):
    """A frame of bytes as they are, and of (byte, count)."""
    blocks = []
    for part in parts:
        data, count = part if isinstance(part, tuple) else (part, len(part))
        for at in range(0, count, BLOCK):
            length = min(BLOCK, count - at)
            repeats = isinstance(part, tuple)
            blocks.append((repeats, length, data if repeats else data[at:at + length]))
    window_of_a_block = b"\x38"
    frame = [b"\x28\xb5\x2f\xfd\0" + window_of_a_block]
    for i, (repeats, length, data) in enumerate(blocks):
        frame.append(struct.pack("<I", length << 3 | repeats << 1 | (i + 1 == len(blocks)))[:3] + data)
    return b"".join(frame)


def checkpoint_of(folder, data, *places):
    """Of compressed objects that lie in `data` from one byte to another."""
    keys = [f"step{i}" for i in range(len(places))]
    records = [(made("MetadataIndex", fqn=text(key), offset=b"N", index=b"N"),
                made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"), offset=integer(begin),
                     length=integer(end - begin), transform_descriptors=list_of(text("stream.zstd/1"))))
               for key, (begin, end) in zip(keys, places)]
    Checkpoint(top_state_dict_metadata=dict_of(*[(text(key), instance(MODULE, "BytesStorageMetadata", b"}"))
                                                 for key in keys]),
               top_planner_data=dict_of(*[(text(key), tuple_of(text(key))) for key in keys]),
               top_storage_data=dict_of(*records)).write(folder)
    write(folder, "ckpt/__0_0.distcp", data)
    return "ckpt"


def checkpoint_with(folder, frame):
    """As its object `step`."""
    index = made("MetadataIndex", fqn=text("step"), offset=b"N", index=b"N")
    info = made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"), offset=integer(len(ITEM)),
                length=integer(len(frame)), transform_descriptors=list_of(text("stream.zstd/1")))
    good = Checkpoint()
    records = dict_of(good.record("w", size(0, 0), 0, len(ITEM)), (index, info))
    Checkpoint(top_storage_data=records).write(folder)
    write(folder, "ckpt/__0_0.distcp", ITEM + frame)
    return "ckpt"


def object_of(value, count):
    """The parts of an archive whose pickle has so many values."""
    pickle = BEGIN + value * count + END
    whole = archive([Record("archive/data.pkl", pickle), Record("archive/byteorder", b"little"),
                     Record("archive/version", b"3\n")])
    before, after = whole.split(pickle)
    return before + BEGIN, (value, count), END + after


@case("metadata")
def zstd_item_of_dicts(folder):
    return checkpoint_with(folder, zstd(*object_of(b"}", MOST_VALUES)))


@case("metadata")
def zstd_item_of_nones(folder):
    return checkpoint_with(folder, zstd(*object_of(b"N", MOST_VALUES)))


@case("metadata")
def zstd_item_of_64_mebibytes(folder):
    return checkpoint_with(folder, zstd(*object_of(b"]", 64 << 20)))


@case("metadata")
def zstd_item_of_many_storages(folder):
    """They are decoded once for all."""
    storages, length = 500, 128 << 10
    crc = zlib.crc32(bytes(length))
    tensors = [tensor([1], [1], stored=storage(key=str(i), items=length // 4)) for i in range(storages)]
    records = [Record("archive/data.pkl", BEGIN + list_of(*tensors) + END), Record("archive/byteorder", b"little")]
    records += [Record(f"archive/data/{i}", crc=crc, bytes=length, compressed=length) for i in range(storages)]
    parts, directory, at = [], b"", 0
    for record in records:
        zeros = record.says("local", "compressed") - len(record.data)
        directory += record.central(at)
        parts += [record.local(), (b"\0", zeros)]
        at += len(record.local()) + zeros
    return checkpoint_with(folder, zstd(*parts, directory + end_record(len(records), len(directory), at)))


@case("metadata")
def zstd_item_of_a_gibibyte(folder):
    """No archive at all."""
    return checkpoint_with(folder, zstd((b"\0", 1 << 30)))


@case("metadata")
def zstd_items_of_a_gibibyte_each(folder):
    frame = zstd((b"\0", 1 << 30))
    return checkpoint_of(folder, frame * 30, *[(i * len(frame), (i + 1) * len(frame)) for i in range(30)])


@case("metadata")
def zstd_item_of_hundreds_of_keys(folder):
    frame = zstd((b"\0", 1 << 30))
    return checkpoint_of(folder, frame, *[(0, len(frame))] * 300)


@case("metadata")
def zstd_item_of_16_gibibytes(folder):
    return checkpoint_with(folder, zstd((b"\0", 1 << 34)))
