"""Keys that all have one hash: in a table that finds them by the hash that the GNU C++ library has for text, each is
compared with all others. MurmurHash64A has no secret, and every step of it can be taken back.
"""
import itertools
import random
import struct

from cases import case, pickled, tensor, text
from metadata import changed, made, properties, size
from pickles import file_of

MASK = (1 << 64) - 1
FACTOR = (0xc6a4a793 << 32) + 0x5bd1e995
INVERSE = pow(FACTOR, -1, 1 << 64)
SEED = 0xc70f6907
BLOCK = 16  # bytes that are chosen together: 8 at random, 8 that make up for them


def mixed(word):
    return word ^ word >> 47


def stepped(state, block):
    word = int.from_bytes(block, "little")
    return (state ^ mixed(word * FACTOR & MASK) * FACTOR & MASK) * FACTOR & MASK


def block_between(state, after):
    """The eight bytes that lead from one state to another."""
    word = mixed((after * INVERSE & MASK ^ state) * INVERSE & MASK) * INVERSE & MASK
    return struct.pack("<Q", word)


def made_to_collide(blocks, choices):
    """choices^blocks different keys."""
    draw = random.Random(7)
    state = SEED ^ blocks * BLOCK * FACTOR & MASK
    places = []
    for _ in range(blocks):
        after, found = draw.getrandbits(64), []
        while len(found) < choices:
            first = bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=8))
            second = block_between(stepped(state, first), after)
            if second.isascii() and b"." not in second:
                found.append(first + second)
        places.append(found)
        state = after
    return [b"".join(parts).decode() for parts in itertools.product(*places)]


def shared_by(keys, value):
    """A dict that has one value under all of them."""
    return b"}(" + text("first") + value + b"q\x00" + b"".join(text(key) + b"h\x00" for key in keys) + b"u"


@case("metadata")
def metadata_keys_of_one_hash(folder):
    entry = made("TensorStorageMetadata", properties=properties(), size=size(0), chunks=b"]")
    return changed(top_state_dict_metadata=shared_by(made_to_collide(3, 32), entry), top_planner_data=b"N",
                   top_storage_data=b"}")(folder)


@case("pickles")
def keys_of_one_hash(folder):
    return file_of(folder, pickled(shared_by(made_to_collide(3, 32), tensor([0], [1]))))


@case("pickles")
def texts_of_one_hash(folder):
    """Inside an object, where they are written anew."""
    items = b"](" + b"".join(map(text, made_to_collide(4, 16))) + b"e"
    return file_of(folder, pickled(b"}(" + text("w") + tensor([2, 2], [2, 1]) + text("x") + items + b"u"))
