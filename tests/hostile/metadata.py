"""`.metadata` that lies about shapes and places or has other types than it should: each beside one good data file."""
import os

from cases import (CASES, GOOD_DATA, case, dict_of, instance, integer, list_of, name, pickled, tensor, text, torch_file,
                   tuple_of, write)

MODULE = "torch.distributed.checkpoint.metadata"
STORAGE_MODULE = "torch.distributed.checkpoint.filesystem"
ITEM = torch_file(pickled(tensor([2, 2], [2, 1])), GOOD_DATA)
STEP = torch_file(pickled(integer(7)))


def size(*numbers):
    return name("torch", "Size") + b"(" + tuple_of(*map(integer, numbers)) + b"tR"


def made(class_name, module=MODULE, **fields):
    return instance(module, class_name, dict_of(*((text(field), value) for field, value in fields.items())))


def properties(dtype=None):
    state = tuple_of(dtype or name("torch", "float32"), name("torch", "strided"), b"\x89",
                     name(MODULE, "MEM_FORMAT_ENCODING") + b"(" + integer(0) + b"tR", b"\x89")
    return instance(MODULE, "TensorProperties", state)


class Checkpoint:
    """One tensor "w" of [2, 2] and an object "step"; `change` names a field and what is there instead."""

    def __init__(self, **change):
        self.change = change

    def field(self, name_of_field, value):
        return self.change.get(name_of_field, value)

    def fields(self, prefix, **fields):
        return {field: self.field(f"{prefix}_{field}", value) for field, value in fields.items()}

    def record(self, key, offset, at, length):
        index = made("MetadataIndex", **self.fields("index", fqn=text(key), offset=offset, index=b"N"))
        info = made("_StorageInfo", STORAGE_MODULE, **self.fields(
            "info", relative_path=text("__0_0.distcp"), offset=integer(at), length=integer(length)))
        return index, info

    def pickle(self):
        chunk = made("ChunkStorageMetadata", **self.fields("chunk", offsets=size(0, 0), sizes=size(2, 2)))
        entry = made("TensorStorageMetadata", **self.fields(
            "tensor", properties=properties(self.change.get("dtype")), size=size(2, 2), chunks=list_of(chunk)))
        entries = [(text("w"), entry), (text("step"), instance(MODULE, "BytesStorageMetadata", b"}"))]
        records = [self.record("w", size(0, 0), 0, len(ITEM)),
                   (made("MetadataIndex", fqn=text("step"), offset=b"N", index=b"N"),
                    made("_StorageInfo", STORAGE_MODULE, relative_path=text("__0_0.distcp"),
                         offset=integer(len(ITEM)), length=integer(len(STEP))))]
        plan = [(text("w"), tuple_of(text("w"))), (text("step"), tuple_of(text("step")))]
        return pickled(made("Metadata", **self.fields(
            "top", state_dict_metadata=dict_of(*entries), planner_data=dict_of(*plan),
            storage_data=dict_of(*records))))

    def write(self, folder, data_name="__0_0.distcp"):
        write(folder, "ckpt/.metadata", self.pickle())
        if data_name:
            write(folder, "ckpt/" + data_name, ITEM + STEP)
        return "ckpt"


def changed(**change):
    return lambda folder: Checkpoint(**change).write(folder)


CASES["metadata/nothing_wrong"] = changed()

# ---------------------------------------------------------------- numbers

for title, change in (
        ("shape_of_2_to_63", {"tensor_size": size(1 << 63, 2)}),
        ("shape_of_2_to_62", {"tensor_size": size(1 << 62, 2)}),
        ("shape_and_chunk_of_2_to_62", {"tensor_size": size(1 << 62, 4), "chunk_sizes": size(1 << 62, 4)}),
        ("shape_below_zero", {"tensor_size": size(-2, 2)}),
        ("chunk_size_below_zero", {"chunk_sizes": size(-2, 2)}),
        ("chunk_offset_below_zero", {"chunk_offsets": size(-1, 0)}),
        ("chunk_end_wraps", {"chunk_offsets": size((1 << 63) - 1, 0), "index_offset": size((1 << 63) - 1, 0)}),
        ("chunk_of_other_dimensions", {"chunk_sizes": size(4), "chunk_offsets": size(0), "index_offset": size(0)}),
        ("chunk_outside", {"chunk_offsets": size(2, 0), "index_offset": size(2, 0)}),
        ("chunks_none", {"tensor_chunks": b"]"}),
        ("dimensions_65", {"tensor_size": size(*[1] * 65), "chunk_sizes": size(*[1] * 65),
                           "chunk_offsets": size(*[0] * 65), "index_offset": size(*[0] * 65)}),
        ("record_offset_below_zero", {"info_offset": integer(-1)}),
        ("record_length_below_zero", {"info_length": integer(-1)}),
        ("record_of_2_to_63", {"info_length": integer((1 << 63) - 1)}),
        ("record_end_wraps", {"info_offset": integer((1 << 63) - 1), "info_length": integer((1 << 63) - 1)}),
        ("record_of_2_to_100", {"info_length": integer(1 << 100)}),
        ("record_past_the_end", {"info_offset": integer(1 << 40)}),
        ("record_cut_off", {"info_length": integer(100)}),
        ("record_of_nothing", {"info_length": integer(0)}),
        ("record_in_a_record", {"info_offset": integer(1), "info_length": integer(64)}),
        ("dtype_other", {"dtype": name("torch", "float64")}),
        ("dtype_unknown", {"dtype": name("torch", "float3")}),
        ("dtype_an_attack", {"dtype": name("os", "system")})):
    CASES["metadata/" + title] = changed(**change)

# ---------------------------------------------------------------- wrong types, in each field

WRONG = {"none": b"N", "number": integer(7), "text": text("x"), "list": list_of(b"N"), "float": b"G" + bytes(8)}
for field, kinds in {
        "top_state_dict_metadata": ("none", "number", "list"), "top_planner_data": ("number", "text", "list"),
        "top_storage_data": ("none", "number", "list"), "tensor_properties": ("none", "number", "text"),
        "tensor_size": ("none", "number", "text", "list"), "tensor_chunks": ("none", "number", "text", "list"),
        "chunk_offsets": ("none", "number", "text", "list"), "chunk_sizes": ("none", "number", "text", "list"),
        "index_fqn": ("none", "number", "list"), "index_offset": ("number", "text", "list"),
        "info_relative_path": ("none", "number", "list"), "info_offset": ("none", "text", "float"),
        "info_length": ("none", "text", "list"), "dtype": ("none", "number", "text")}.items():
    for kind in kinds:
        CASES[f"metadata/type_{field}_{kind}"] = changed(**{field: WRONG[kind]})


@case("metadata")
def dimensions_a_million(folder):
    return changed(tensor_size=size(*[1] * 1_000_000))(folder)


@case("metadata")
def class_other(folder):
    write(folder, "ckpt/.metadata", pickled(instance("os", "Metadata", b"}")))
    return "ckpt"


@case("metadata")
def fields_missing(folder):
    write(folder, "ckpt/.metadata", pickled(instance(MODULE, "Metadata", b"}")))
    return "ckpt"


@case("metadata")
def empty_file(folder):
    write(folder, "ckpt/.metadata", b"")
    return "ckpt"


@case("metadata")
def zeros(folder):
    write(folder, "ckpt/.metadata", bytes(1_000_000))
    return "ckpt"


# ---------------------------------------------------------------- cycles and repetition

@case("metadata")
def entries_in_themselves(folder):
    return changed(top_state_dict_metadata=b"}q\x00(" + text("w") + b"h\x00u")(folder)


@case("metadata")
def size_in_itself(folder):
    return changed(tensor_size=b"]q\x00h\x00a")(folder)


@case("metadata")
def path_in_itself(folder):
    return changed(top_planner_data=b"}(" + text("w") + b"]q\x00h\x00a" + b"u")(folder)


@case("metadata")
def chunks_are_their_tensor(folder):
    return changed(tensor_chunks=b"]q\x00(h\x00h\x00e")(folder)


def planned(*path):
    items = tuple_of(*(text(item) if isinstance(item, str) else integer(item) for item in path))
    return changed(top_planner_data=dict_of((text("w"), items), (text("step"), tuple_of(text("step")))))


CASES["metadata/path_position_of_2_to_40"] = planned("x", 1 << 40)
CASES["metadata/path_position_of_100_million"] = planned("x", 100_000_000)
CASES["metadata/path_position_below_zero"] = planned("x", -1)
CASES["metadata/path_of_nothing"] = planned()
CASES["metadata/path_through_another"] = planned("step", "w")
CASES["metadata/path_of_another"] = planned("step")
CASES["metadata/path_of_10000_steps"] = planned(*["a"] * 10_000)


@case("metadata")
def million_empty_tensors(folder):
    """All share what can be shared: 16 bytes each."""
    shared = made("TensorStorageMetadata", properties=properties(), size=size(0), chunks=b"]")
    body = b"".join(b"X\x07\x00\x00\x00" + b"%07d" % i + b"h\x00" for i in range(1_000_000))
    first = b"}(" + text("first") + shared + b"q\x00" + body + b"u"
    return changed(top_state_dict_metadata=first, top_planner_data=b"N", top_storage_data=b"}")(folder)


@case("metadata")
def many_chunks_in_one_place(folder):
    chunk = made("ChunkStorageMetadata", offsets=size(0, 0), sizes=size(2, 2))
    return changed(tensor_chunks=b"](" + chunk + b"2" * 29_999 + b"e")(folder)


@case("metadata")
def hundred_thousand_chunks_that_overlap(folder):
    """Each one element further than the one before: all pairs of neighbours overlap, in both dimensions."""
    count = 30_000
    chunk = b"".join(made("ChunkStorageMetadata", offsets=size(i, i), sizes=size(1000, 1000)) for i in range(count))
    return changed(tensor_size=size(1 << 20, 1 << 20), tensor_chunks=b"](" + chunk + b"e")(folder)


@case("metadata")
def key_of_a_megabyte(folder):
    entry = made("TensorStorageMetadata", properties=properties(), size=size(0), chunks=b"]")
    return changed(top_state_dict_metadata=dict_of((text("k" * 1_000_000), entry)), top_planner_data=b"N",
                   top_storage_data=b"}")(folder)


@case("metadata")
def keys_twice(folder):
    entry = instance(MODULE, "BytesStorageMetadata", b"}")
    return changed(top_state_dict_metadata=dict_of((text("w"), entry), (text("w"), entry)))(folder)


@case("metadata")
def keys_with_escapes(folder):
    entry = made("TensorStorageMetadata", properties=properties(), size=size(0), chunks=b"]")
    keys = ("\x1b]0;title\x07", "a\nb", "\x1b[2J", "\u202egnp.exe", "tab\tbell\x07", "\x9b2J", "nul\x00")
    return changed(top_state_dict_metadata=dict_of(*((text(key), entry) for key in keys)), top_planner_data=b"N",
                   top_storage_data=b"}")(folder)


@case("metadata")
def keys_not_text(folder):
    entry = instance(MODULE, "BytesStorageMetadata", b"}")
    return changed(top_state_dict_metadata=dict_of((integer(1), entry), (b"N", entry)))(folder)


@case("metadata")
def runs_something(folder):
    return changed(top_planner_data=name("os", "system") + b"(" + text("touch ran") + b"tR")(folder)


@case("metadata")
def ranks_that_contradict(folder):
    """Saves without collectives: two ranks, two shapes of one tensor."""
    write(folder, "ckpt/__0.metadata", Checkpoint().pickle())
    write(folder, "ckpt/__1.metadata", Checkpoint(tensor_size=size(4, 2)).pickle())
    write(folder, "ckpt/__0_0.distcp", ITEM + STEP)
    return "ckpt"


@case("metadata")
def rank_of_2_to_64(folder):
    os.makedirs(os.path.join(folder, "ckpt"))
    write(folder, "ckpt/__18446744073709551616.metadata", Checkpoint().pickle())
    write(folder, "ckpt/__0_0.distcp", ITEM + STEP)
    return "ckpt"
