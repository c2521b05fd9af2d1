"""Zip archives whose headers lie or contradict each other: each a torch.save file but for that."""
import struct
import zlib

from cases import GOOD_DATA, GOOD_PICKLE, CASES, case, torch_file, write, zipped

STORED, DEFLATED = 0, 8


class Record:
    """One record, with whatever its two headers are to say."""

    def __init__(self, name, data=b"", /, **lies):
        self.name = name if isinstance(name, bytes) else name.encode()
        self.data = data
        self.truth = {"name": self.name, "flags": 0, "method": STORED, "crc": zlib.crc32(data),
                      "compressed": len(data), "bytes": len(data), "extra": b""}
        self.lies = lies  # "crc": in both headers; "local_crc", "central_crc": in one

    def says(self, where, field):
        return self.lies.get(f"{where}_{field}", self.lies.get(field, self.truth[field]))

    def local(self):
        name, extra = self.says("local", "name"), self.says("local", "extra")
        return struct.pack("<IHHHHHIIIHH", self.lies.get("local_signature", 0x04034b50), 20, self.says("local", "flags"),
                           self.says("local", "method"), 0, 0, self.says("local", "crc"),
                           self.says("local", "compressed"), self.says("local", "bytes"), len(name),
                           len(extra)) + name + extra + self.data

    def central(self, offset):
        name, extra = self.says("central", "name"), self.says("central", "extra")
        comment = self.lies.get("comment", b"")
        return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, self.says("central", "flags"),
                           self.says("central", "method"), 0, 0, self.says("central", "crc"),
                           self.says("central", "compressed"), self.says("central", "bytes"), len(name), len(extra),
                           len(comment), 0, 0, 0, self.lies.get("offset", offset)) + name + extra + comment


def end_record(count, size, offset, comment=b"", disk=0):
    return struct.pack("<IHHHHIIH", 0x06054b50, disk, 0, min(count, 0xffff), min(count, 0xffff),
                       min(size, 0xffffffff), min(offset, 0xffffffff), len(comment)) + comment


def end64_record(count, size, offset):
    return struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, size, offset)


def locator(offset, disks=1):
    return struct.pack("<IIQI", 0x07064b50, 0, offset, disks)


def archive(records, end=None, between=b""):
    """`end` makes the end records from count, size and offset of the directory."""
    body, offsets = b"", []
    for record in records:
        offsets.append(len(body))
        body += record.local()
    directory = b"".join(record.central(offset) for record, offset in zip(records, offsets))
    make = end or end_record
    return body + directory + between + make(len(records), len(directory), len(body))


def good(**lies):
    """The records of a good file, with lies about its storage."""
    return [Record("archive/data.pkl", GOOD_PICKLE), Record("archive/byteorder", b"little"),
            Record("archive/data/0", GOOD_DATA, **lies), Record("archive/version", b"3\n")]


def file_of(folder, data):
    write(folder, "input.pt", data)
    return "input.pt"


def lying(**lies):
    return lambda folder: file_of(folder, archive(good(**lies)))


def deflated(data):
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(data) + squeeze.flush()


def nothing_wrong(folder):
    return file_of(folder, archive(good()))


CASES["zips/nothing_wrong"] = nothing_wrong
ZIP64_EXTRA = struct.pack("<HHQQQ", 1, 24, 16, 16, 0)
for title, lies in (
        ("local_name_differs", {"local_name": b"archive/data/1"}),
        ("local_method_differs", {"local_method": DEFLATED}),
        ("local_crc_differs", {"local_crc": 1}),
        ("local_size_differs", {"local_bytes": 15}),
        ("local_size_is_larger", {"local_compressed": 1 << 30, "local_bytes": 1 << 30}),
        ("local_flags_differ", {"local_flags": 1}),
        ("local_signature_wrong", {"local_signature": 0x04034b51}),
        ("local_extra_into_the_next", {"local_extra": struct.pack("<HH", 0x4246, 400) + b"Z" * 400, "compressed": 16}),
        ("encrypted", {"flags": 1}),
        ("method_unknown", {"method": 99}),
        ("crc_wrong", {"crc": 1}),
        ("crc_absent", {"crc": 0}),
        ("stored_sizes_differ", {"bytes": 17}),
        ("size_past_the_directory", {"compressed": 4096, "bytes": 4096}),
        ("offset_past_the_end", {"offset": 0x7fffffff}),
        ("offset_in_another_record", {"offset": 4}),
        ("offset_of_another_record", {"offset": 0}),
        ("name_empty", {"name": b""}),
        ("name_with_nul", {"name": b"archive/data/0\0.exe"}),
        ("name_leaves", {"name": b"../../archive/data/0"}),
        ("name_with_escapes", {"name": b"archive/\x1b[2J\x07\ndata/0"}),
        ("name_of_64_kib", {"name": b"archive/" + b"n" * 65_527}),
        ("zip64_sentinels_alone", {"compressed": 0xffffffff, "bytes": 0xffffffff}),
        ("zip64_extra_short", {"central_compressed": 0xffffffff, "central_bytes": 0xffffffff,
                               "central_extra": struct.pack("<HHQ", 1, 8, 16)}),
        ("zip64_sizes_of_2_to_63", {"central_compressed": 0xffffffff, "central_bytes": 0xffffffff,
                                    "central_extra": struct.pack("<HHQQ", 1, 16, 1 << 63, 1 << 63)}),
        ("zip64_sizes_wrap", {"central_compressed": 0xffffffff, "central_bytes": 0xffffffff,
                              "central_extra": struct.pack("<HHQQ", 1, 16, (1 << 64) - 40, (1 << 64) - 40)}),
        ("zip64_offset_wraps", {"offset": 0xffffffff, "central_extra": struct.pack("<HHQ", 1, 8, (1 << 64) - 1)}),
        ("extra_past_its_end", {"central_extra": struct.pack("<HH", 1, 0xffff)}),
        ("comment_with_an_end_record", {"comment": end_record(0, 0, 0)})):
    CASES["zips/" + title] = lying(**lies)


@case("zips")
def records_overlap(folder):
    """Two records of the directory have one place: what would be a bomb with many."""
    records = good()
    data = records[2]
    records.append(Record("archive/data/1", b"", compressed=16, bytes=16, central_crc=zlib.crc32(GOOD_DATA),
                          offset=len(records[0].local() + records[1].local())))
    return file_of(folder, archive(records[:2] + [data] + records[3:]))


@case("zips")
def thousand_records_in_one_place(folder):
    record = Record("archive/data/0", b"\0" * 65_536)
    body = record.local()
    directory = b"".join(Record(f"archive/data/{i}", record.data).central(0) for i in range(1000))
    return file_of(folder, body + directory + end_record(1000, len(directory), len(body)))


@case("zips")
def names_twice(folder):
    return file_of(folder, archive([*good(), Record("archive/data.pkl", b"\x80\x02}.")]))


@case("zips")
def names_differ_in_case(folder):
    return file_of(folder, archive([*good(), Record("archive/DATA.PKL", b"\x80\x02}.")]))


@case("zips")
def prefixes_differ(folder):
    return file_of(folder, archive([*good(), Record("other/data.pkl", b"\x80\x02}.")]))


@case("zips")
def pickle_missing(folder):
    return file_of(folder, archive(good()[1:]))


@case("zips")
def storage_missing(folder):
    return file_of(folder, archive(good()[:2]))


@case("zips")
def storage_short(folder):
    return file_of(folder, torch_file(GOOD_PICKLE, GOOD_DATA[:-1]))


@case("zips")
def version_99(folder):
    return file_of(folder, torch_file(GOOD_PICKLE, **{"archive/version": b"99\n"}))


@case("zips")
def version_of_a_megabyte(folder):
    return file_of(folder, torch_file(GOOD_PICKLE, **{"archive/version": b"3" * (1 << 20)}))


@case("zips")
def byte_order_unknown(folder):
    return file_of(folder, torch_file(GOOD_PICKLE, **{"archive/byteorder": b"middle"}))


def with_end(end, between=b""):
    return lambda folder: file_of(folder, archive(good(), end, between))


for title, end in (
        ("counts_too_many", lambda n, size, at: end_record(n + 1, size, at)),
        ("counts_too_few", lambda n, size, at: end_record(n - 1, size, at)),
        ("counts_none", lambda n, size, at: end_record(0, 0, at + size)),
        ("directory_too_long", lambda n, size, at: end_record(n, size + 1, at)),
        ("directory_past_the_end", lambda n, size, at: end_record(n, size, 0xfffffffe)),
        ("directory_before_the_file", lambda n, size, at: end_record(n, 0xfffffffe, at)),
        ("several_disks", lambda n, size, at: end_record(n, size, at, disk=1)),
        ("end_records_twice", lambda n, size, at: end_record(n, size, at) + end_record(n, size, at)),
        ("end_record_in_the_comment", lambda n, size, at: end_record(n, size, at, end_record(0, 0, 0))),
        ("comment_cut_off", lambda n, size, at: end_record(n, size, at, b"x" * 99)[:-9]),
        ("comment_of_64_kib", lambda n, size, at: end_record(n, size, at, b"PK\5\6" * 16_383)),
        ("end_record_missing", lambda n, size, at: b""),
        ("zip64_agrees", lambda n, size, at: end64_record(n, size, at) + locator(at + size) +
         end_record(0xffff, 0xffffffff, 0xffffffff)),
        ("zip64_contradicts", lambda n, size, at: end64_record(n - 1, size, at) + locator(at + size) +
         end_record(n, size, at)),
        ("zip64_counts_2_to_63", lambda n, size, at: end64_record(1 << 63, size, at) + locator(at + size) +
         end_record(0xffff, 0xffffffff, 0xffffffff)),
        ("zip64_directory_of_2_to_63", lambda n, size, at: end64_record(n, 1 << 63, at) + locator(at + size) +
         end_record(0xffff, 0xffffffff, 0xffffffff)),
        ("zip64_directory_wraps", lambda n, size, at: end64_record(n, size, (1 << 64) - size) + locator(at + size) +
         end_record(0xffff, 0xffffffff, 0xffffffff)),
        ("zip64_locator_past_the_end", lambda n, size, at: locator(1 << 62) +
         end_record(0xffff, 0xffffffff, 0xffffffff)),
        ("zip64_locator_of_itself", lambda n, size, at: locator(at + size) +
         end_record(0xffff, 0xffffffff, 0xffffffff)),
        ("zip64_record_missing", lambda n, size, at: end_record(0xffff, 0xffffffff, 0xffffffff))):
    CASES["zips/" + title] = with_end(end)


def bomb(pickle, data):
    return archive([pickle, Record("archive/byteorder", b"little"), data, Record("archive/version", b"3\n")])


@case("zips")
def deflate_bomb_as_pickle(folder):
    """1 GiB in a megabyte, and the directory says so."""
    packed = deflated(b"\x80\x02" + b"N0" * (1 << 29))
    pickle = Record("archive/data.pkl", packed, method=DEFLATED, bytes=2 + (1 << 30), crc=0)
    return file_of(folder, bomb(pickle, Record("archive/data/0", GOOD_DATA)))


@case("zips")
def deflate_bomb_that_says_little(folder):
    packed = deflated(b"\x80\x02" + b"N0" * (1 << 27))
    pickle = Record("archive/data.pkl", packed, method=DEFLATED, bytes=100, crc=0)
    return file_of(folder, bomb(pickle, Record("archive/data/0", GOOD_DATA)))


@case("zips")
def deflate_bomb_as_storage(folder):
    packed = deflated(b"\0" * (1 << 28))
    data = Record("archive/data/0", packed, method=DEFLATED, bytes=16, crc=zlib.crc32(GOOD_DATA))
    return file_of(folder, bomb(Record("archive/data.pkl", GOOD_PICKLE), data))


@case("zips")
def deflate_cut_off(folder):
    packed = deflated(GOOD_DATA)[:-3]
    data = Record("archive/data/0", packed, method=DEFLATED, bytes=16, crc=zlib.crc32(GOOD_DATA))
    return file_of(folder, bomb(Record("archive/data.pkl", GOOD_PICKLE), data))


@case("zips")
def deflate_goes_on(folder):
    packed = deflated(GOOD_DATA) + b"more"
    data = Record("archive/data/0", packed, method=DEFLATED, bytes=16, crc=zlib.crc32(GOOD_DATA))
    return file_of(folder, bomb(Record("archive/data.pkl", GOOD_PICKLE), data))


@case("zips")
def deflate_of_nothing(folder):
    data = Record("archive/data/0", b"", method=DEFLATED, bytes=16, crc=zlib.crc32(GOOD_DATA))
    return file_of(folder, bomb(Record("archive/data.pkl", GOOD_PICKLE), data))


@case("zips")
def archive_in_its_own_storage(folder):
    inner = torch_file(GOOD_PICKLE)
    return file_of(folder, torch_file(GOOD_PICKLE, inner))


@case("zips")
def hundred_thousand_records(folder):
    records = [*good(), *(Record(f"archive/x/{i}") for i in range(100_000))]
    return file_of(folder, archive(records, lambda n, size, at: end64_record(n, size, at) + locator(at + size) +
                                   end_record(0xffff, 0xffffffff, 0xffffffff)))


@case("zips")
def junk_before(folder):
    return file_of(folder, b"#!/bin/sh\nexit\n" + torch_file(GOOD_PICKLE))


@case("zips")
def junk_after(folder):
    return file_of(folder, torch_file(GOOD_PICKLE) + b"\0" * 100_000)


@case("zips")
def end_records_everywhere(folder):
    """Each looks like the last one of an archive; whoever tries them all from each place takes long."""
    return file_of(folder, torch_file(GOOD_PICKLE) + b"PK\5\6" * 250_000)


@case("zips")
def local_headers_only(folder):
    return file_of(folder, b"PK\3\4" * 250_000)


@case("zips")
def cut_off_in_the_middle(folder):
    whole = zipped({"archive/data.pkl": GOOD_PICKLE, "archive/data/0": GOOD_DATA * 1000})
    return file_of(folder, whole[:len(whole) // 2])
