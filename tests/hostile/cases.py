"""What the generators of hostile inputs share: a list of cases, and the pieces they are put together from.

A case is a function that gets an empty folder and writes one input into it. It returns the path that the program is
given, relative to that folder: "input.pt" or "ckpt".
"""
import os
import struct
import zipfile
import io

CASES = {}  # "group/name" -> function


def case(group):
    """Registers the function as a case of this group."""
    def register(function):
        CASES[f"{group}/{function.__name__}"] = function
        return function
    return register


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


# ---------------------------------------------------------------- pickles, opcode by opcode

def text(value):
    """BINUNICODE."""
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def integer(value):
    """BININT, or LONG1 for what does not fit."""
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def name(module, attribute):
    """GLOBAL."""
    return b"c" + f"{module}\n{attribute}\n".encode()


def tuple_of(*items):
    return b"(" + b"".join(items) + b"t"


def list_of(*items):
    return b"](" + b"".join(items) + b"e"


def dict_of(*pairs):
    return b"}(" + b"".join(key + value for key, value in pairs) + b"u"


def call(function, *args):
    """REDUCE."""
    return function + tuple_of(*args) + b"R"


def instance(module, attribute, state):
    """NEWOBJ without arguments, then BUILD."""
    return name(module, attribute) + b")\x81" + state + b"b"


def pickled(value):
    return b"\x80\x02" + value + b"."


def storage(key="0", items=4, kind="FloatStorage"):
    """BINPERSID of a storage."""
    return tuple_of(text("storage"), name("torch", kind), text(key), text("cpu"), integer(items)) + b"Q"


def tensor(shape, strides, stored=None, offset=0):
    """A call of _rebuild_tensor_v2."""
    return call(name("torch._utils", "_rebuild_tensor_v2"), stored or storage(), integer(offset),
                tuple_of(*map(integer, shape)), tuple_of(*map(integer, strides)), b"\x89",
                call(name("collections", "OrderedDict")))


GOOD_TENSOR = tensor([2, 2], [2, 1])
GOOD_PICKLE = pickled(dict_of((text("w"), GOOD_TENSOR), (text("step"), integer(7))))
GOOD_DATA = bytes(range(16))


# ---------------------------------------------------------------- archives

def torch_file(pickle, data=GOOD_DATA, **more):
    """A torch.save archive around a pickle."""
    return zipped({"archive/data.pkl": pickle, "archive/byteorder": b"little", "archive/data/0": data,
                   "archive/version": b"3\n", **more})


def zipped(records, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for record, data in records.items():
            archive.writestr(zipfile.ZipInfo(record), data, compression)
    return buffer.getvalue()
