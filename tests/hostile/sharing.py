"""Few bytes that stand for much: what a pickle shares counts once for each way that leads to it."""
import struct

from cases import (call, case, dict_of, instance, integer, list_of, name, pickled, storage, tensor, text, torch_file,
                   tuple_of, write)
from metadata import MODULE, STORAGE_MODULE, Checkpoint, made, properties, size
from pickles import file_of

COUNT = 60_000
NUMPY = name("numpy.core.multiarray", "scalar")


def put(number):
    return b"r" + struct.pack("<I", number)


def get(number):
    return b"j" + struct.pack("<I", number)


def doubled(times):
    """A tuple of 2^times numbers, in the memo under `times`."""
    value = b"K\x01\x85" + put(0) + b"0"
    for number in range(1, times + 1):
        value += get(number - 1) + get(number - 1) + b"\x86" + put(number) + b"0"
    return value


def keyed(made_before, key):
    """A dict with as many items, whose keys are what `key` gives for their number."""
    return made_before + b"}(" + b"".join(key(i) + b"N" for i in range(COUNT)) + b"u"


def state(folder, value):
    return file_of(folder, pickled(b"}(" + text("w") + tensor([2, 2], [2, 1]) + text("x") + value + b"u"))


# ---------------------------------------------------------------- keys of a state

@case("pickles")
def keys_are_one_large_tuple(folder):
    return state(folder, keyed(doubled(40), lambda i: get(40)))


@case("pickles")
def keys_hold_one_large_tuple(folder):
    return state(folder, keyed(doubled(40), lambda i: get(40) + integer(i) + b"\x86"))


@case("pickles")
def keys_hold_one_long_text(folder):
    return state(folder, keyed(text("x" * 300_000) + put(1) + b"0", lambda i: get(1) + b"\x85"))


@case("pickles")
def keys_are_devices_of_one_long_name(folder):
    return state(folder, keyed(text("x" * 60_000) + put(1) + b"0" + name("torch", "device") + put(2) + b"0",
                               lambda i: get(2) + get(1) + b"\x85R"))


@case("pickles")
def keys_are_numbers_of_numpy_that_are_none(folder):
    return state(folder, keyed(doubled(40) + NUMPY + put(99) + b"0", lambda i: get(99) + get(40) + b"\x85R"))


@case("pickles")
def keys_are_one_uuid_with_many_attributes(folder):
    attributes = dict_of(*((text(f"s{i}"), b"N") for i in range(COUNT)), (text("int"), integer(5)))
    return state(folder, keyed(instance("uuid", "UUID", attributes) + put(1) + b"0", lambda i: get(1) + b"\x85"))


@case("pickles")
def key_is_a_path_of_long_parts(folder):
    parts = b"(" + get(1) * COUNT + b"t"
    key = name("pathlib", "PosixPath") + parts + b"R"
    return state(folder, text("x" * 300_000) + put(1) + b"0" + b"}" + key + b"Ns")


# ---------------------------------------------------------------- values of a state

@case("pickles")
def counter_of_one_dict_many_times(folder):
    items = dict_of(*((text(str(i)), b"N") for i in range(1000)))
    return state(folder, items + put(1) + b"0" + name("collections", "Counter") + b"(" + get(1) * COUNT + b"tR")


@case("pickles")
def list_of_one_object_with_many_items(folder):
    made_once = name("m", "C") + b")R(" + b"N" * COUNT + b"e" + put(1) + b"0"
    return state(folder, made_once + b"](" + get(1) * COUNT + b"e")


@case("pickles")
def objects_hold_one_list(folder):
    items = b"".join(text(str(i)) + get(1) + b"\x85" for i in range(COUNT))
    return state(folder, list_of(b"N" * COUNT) + put(1) + b"0}(" + items + b"u")


@case("pickles")
def keys_have_one_value_of_many_classes(folder):
    """Not so many that its conversion takes long: that writes the value for each key."""
    classes = tuple_of(*(name("m", f"C{i}") for i in range(8000))) + put(1) + b"0"
    return state(folder, classes + b"}(" + b"".join(text(str(i)) + get(1) for i in range(2000)) + b"u")


@case("pickles")
def tensors_have_one_shape_of_many_dimensions(folder):
    before = (storage() + put(1) + b"0" + tuple_of(b"K\x01" * COUNT) + put(2) + b"0" +
              name("torch._utils", "_rebuild_tensor_v2") + put(3) + b"0")
    order = call(name("collections", "OrderedDict")) + put(4) + b"0"
    items = b"".join(text(str(i)) + get(3) + b"(" + get(1) + integer(0) + get(2) + get(2) + b"\x89" + get(4) + b"tR"
                     for i in range(20_000))
    return state(folder, before + order + b"}(" + items + b"u")


# ---------------------------------------------------------------- metadata

SHARERS = 20_000
CHUNK = made("ChunkStorageMetadata", offsets=size(0, 0), sizes=size(2, 2))
INFO = made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"), offset=integer(0), length=integer(1))


def junk(**fields):
    """Attributes, most of them of no use."""
    return dict_of(*((text(f"j{i}"), b"N") for i in range(SHARERS)), *((text(n), v) for n, v in fields.items()))


def tensor_of(chunks):
    return made("TensorStorageMetadata", properties=properties(), size=size(2, 2), chunks=chunks)


def sharing(first, item):
    """A dict of `first` and as many that refer to it."""
    return b"}(" + text("w") + first + put(9) + b"".join(item(i) for i in range(SHARERS)) + b"u"


def entries(first):
    return sharing(first, lambda i: text(f"k{i}") + get(9))


def checkpoint(folder, **top):
    return Checkpoint(**{"top_" + field: value for field, value in top.items()}).write(folder)


@case("metadata")
def tensors_have_one_list_of_many_chunks(folder):
    chunks = b"](" + CHUNK + put(7) + get(7) * SHARERS + b"e"
    return checkpoint(folder, state_dict_metadata=entries(tensor_of(chunks)))


@case("metadata")
def tensor_of_many_attributes(folder):
    attributes = junk(properties=properties(), size=size(2, 2), chunks=list_of(CHUNK))
    return checkpoint(folder, state_dict_metadata=entries(instance(MODULE, "TensorStorageMetadata", attributes)))


@case("metadata")
def chunk_of_many_attributes(folder):
    chunk = instance(MODULE, "ChunkStorageMetadata", junk(offsets=size(0, 0), sizes=size(2, 2)))
    return Checkpoint(tensor_chunks=b"](" + chunk + put(7) + get(7) * SHARERS + b"e").write(folder)


@case("metadata")
def index_of_many_attributes(folder):
    index = instance(MODULE, "MetadataIndex", junk(fqn=text("w"), offset=size(0, 0), index=b"N"))
    records = b"}(" + index + put(5) + INFO + put(6) + (get(5) + get(6)) * SHARERS + b"u"
    return checkpoint(folder, storage_data=records)


@case("metadata")
def record_of_many_transforms(folder):
    info = made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"), offset=integer(0),
                length=integer(1), transform_descriptors=b"](" + text("t") + put(3) + get(3) * SHARERS + b"e")
    index = made("MetadataIndex", fqn=text("w"), offset=size(0, 0), index=b"N")
    records = b"}(" + index + put(5) + info + put(6) + (get(5) + get(6)) * SHARERS + b"u"
    return checkpoint(folder, storage_data=records)


@case("metadata")
def records_of_different_transforms(folder):
    index = made("MetadataIndex", fqn=text("w"), offset=size(0, 0), index=b"N") + put(5)
    infos = [made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"), offset=integer(0),
                  length=integer(1), transform_descriptors=list_of(text(str(i)))) for i in range(SHARERS)]
    records = b"}(" + index + infos[0] + b"".join(get(5) + info for info in infos[1:]) + b"u"
    return checkpoint(folder, storage_data=records)


@case("metadata")
def entries_have_one_record_of_a_megabyte(folder):
    record = torch_file(pickled(list_of(b"K\x01" * 500_000)))
    entry = instance(MODULE, "BytesStorageMetadata", b"}")
    info = made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"), offset=integer(0),
                length=integer(len(record)))
    keys = [text(f"k{i}") for i in range(3000)]
    records = dict_of(*((made("MetadataIndex", fqn=key, offset=b"N", index=b"N"), info) for key in keys))
    Checkpoint(top_state_dict_metadata=dict_of(*((key, entry) for key in keys)), top_planner_data=b"N",
               top_storage_data=records).write(folder)
    write(folder, "ckpt/__0_0.distcp", record)
    return "ckpt"


@case("metadata")
def file_of_a_long_name(folder):
    return Checkpoint(info_relative_path=text("d/" * 30_000 + "__0_0.distcp")).write(folder)


@case("metadata")
def key_of_60000_bytes_many_times(folder):
    entry = tensor_of(list_of(CHUNK)) + put(9)
    long_key = text("a" * 60_000) + put(3)
    return checkpoint(folder, state_dict_metadata=b"}(" + long_key + entry + (get(3) + get(9)) * SHARERS + b"u")


@case("metadata")
def paths_have_one_long_name(folder):
    path = tuple_of(text("a" * 60_000))
    return checkpoint(folder, state_dict_metadata=entries(tensor_of(list_of(CHUNK))), planner_data=entries(path))


@case("metadata")
def paths_are_one_of_many_steps(folder):
    path = tuple_of(text("a") * SHARERS)
    return checkpoint(folder, state_dict_metadata=entries(tensor_of(list_of(CHUNK))), planner_data=entries(path))
