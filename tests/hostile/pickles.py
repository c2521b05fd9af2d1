"""Pickles that want something run, remembered, taken for longer than it is, or that are none: as the state of a
torch.save file."""
import pickletools
import struct

from cases import (CASES, GOOD_TENSOR, call, case, dict_of, instance, integer, list_of, name, pickled, storage, tensor,
                   text, torch_file, tuple_of, write)


def file_of(folder, pickle):
    write(folder, "input.pt", torch_file(pickle))
    return "input.pt"


def state(folder, value):
    """One value beside a good tensor."""
    return file_of(folder, pickled(dict_of((text("w"), GOOD_TENSOR), (text("x"), value))))


# ---------------------------------------------------------------- calls and imports

@case("pickles")
def calls_os_system(folder):
    return state(folder, call(name("os", "system"), text("touch ran")))


@case("pickles")
def calls_posix_system_as_root(folder):
    return file_of(folder, b"cposix\nsystem\n(S'touch ran'\ntR.")


@case("pickles")
def calls_eval(folder):
    return state(folder, call(name("builtins", "eval"), text("open('ran', 'w')")))


@case("pickles")
def calls_exec_by_its_old_name(folder):
    return state(folder, call(name("__builtin__", "exec"), text("open('ran', 'w')")))


@case("pickles")
def calls_popen_with_newobj(folder):
    return state(folder, name("subprocess", "Popen") + tuple_of(list_of(text("touch"), text("ran"))) + b"\x81")


@case("pickles")
def calls_popen_with_newobj_ex(folder):
    return state(folder, name("subprocess", "Popen") + tuple_of(text("touch ran")) +
                 dict_of((text("shell"), b"\x88")) + b"\x92")


@case("pickles")
def calls_with_inst(folder):
    return state(folder, b"(" + text("touch ran") + b"ios\nsystem\n")


@case("pickles")
def calls_with_obj(folder):
    return state(folder, b"(" + name("os", "system") + text("touch ran") + b"o")


@case("pickles")
def calls_stack_global(folder):
    return state(folder, text("os") + text("system") + b"\x93" + tuple_of(text("touch ran")) + b"R")


@case("pickles")
def calls_a_dotted_name(folder):
    return state(folder, text("shutil") + text("os.system") + b"\x93" + tuple_of(text("touch ran")) + b"R")


@case("pickles")
def calls_what_getattr_finds(folder):
    system = call(name("builtins", "getattr"), name("os", "path"), text("os"))
    return state(folder, call(call(name("builtins", "getattr"), system, text("system")), text("touch ran")))


@case("pickles")
def calls_in_a_state(folder):
    return state(folder, instance("some.module", "Thing", call(name("os", "system"), text("touch ran"))))


@case("pickles")
def calls_in_a_dict_key(folder):
    return state(folder, dict_of((call(name("os", "system"), text("touch ran")), integer(1))))


@case("pickles")
def calls_inside_a_tensor(folder):
    return state(folder, call(name("torch._utils", "_rebuild_tensor_v2"),
                              call(name("os", "system"), text("touch ran")), integer(0), tuple_of(), tuple_of()))


@case("pickles")
def calls_what_nothing_refers_to(folder):
    return file_of(folder, pickled(call(name("os", "system"), text("touch ran")) + b"0" +
                                   dict_of((text("w"), GOOD_TENSOR))))


@case("pickles")
def imports_what_nothing_refers_to(folder):
    return file_of(folder, pickled(name("os", "system") + b"0" + dict_of((text("w"), GOOD_TENSOR))))


@case("pickles")
def imports_a_module(folder):
    return state(folder, call(name("importlib", "import_module"), text("antigravity")))


@case("pickles")
def imports_runpy(folder):
    return state(folder, call(name("runpy", "run_path"), text("/tmp/x.py")))


@case("pickles")
def loads_a_pickle_in_a_pickle(folder):
    return state(folder, call(name("pickle", "loads"), b"C" + bytes([12]) + b"cos\nsystem\n."))


@case("pickles")
def removes_a_tree(folder):
    return state(folder, call(name("shutil", "rmtree"), text("/tmp/x")))


@case("pickles")
def names_with_control_characters(folder):
    return state(folder, call(name("os\x1b[2J", "sys\x07tem"), text("x")))


@case("pickles")
def foreign_class(folder):
    return state(folder, instance("some.module", "Thing", dict_of((text("a"), integer(1)))))


# ---------------------------------------------------------------- recursion and memo

@case("pickles")
def deep_lists(folder):
    return state(folder, b"]" * 100_000 + b"a" * 99_999)


@case("pickles")
def deep_tuples(folder):
    return state(folder, b")" + b"\x85" * 100_000)


@case("pickles")
def deep_dicts(folder):
    return state(folder, b"}K\x00" * 100_000 + b"}" + b"s" * 100_000)


@case("pickles")
def deep_calls(folder):
    return state(folder, name("m", "f") + b"q\x00" + b"h\x00" * 50_000 + b")R" + b"\x85R" * 50_000)


@case("pickles")
def deep_state(folder):
    return file_of(folder, pickled(b"}X\x01\x00\x00\x00k" * 5000 + b"}" + b"s" * 5000))


@case("pickles")
def class_with_a_million_dots(folder):
    return state(folder, text("m") + text("A" + ".b" * 1_000_000) + b"\x93")


@case("pickles")
def list_in_itself(folder):
    return state(folder, b"]q\x00h\x00a")


@case("pickles")
def state_in_itself(folder):
    return file_of(folder, pickled(b"}q\x00" + text("x") + b"h\x00s"))


@case("pickles")
def object_in_its_own_state(folder):
    return state(folder, name("m", "T") + b")\x81q\x00}" + text("me") + b"h\x00sb")


@case("pickles")
def tuple_in_itself(folder):
    return state(folder, b"]q\x01(h\x01\x85q\x02h\x02e")


@case("pickles")
def laughs(folder):
    """2^40 values in a few bytes."""
    value = b"]q\x00"
    for i in range(40):
        value += b"](" + b"h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1])
    return state(folder, b"(" + value + b"\x85" + b"t")


@case("pickles")
def laughing_state(folder):
    """The same as dicts, which a checkpoint takes apart into entries."""
    value = dict_of((text("a"), GOOD_TENSOR)) + b"q\x00"
    for i in range(40):
        value += b"}(" + text("a") + b"h" + bytes([i]) + text("b") + b"h" + bytes([i]) + b"uq" + bytes([i + 1])
    return file_of(folder, b"\x80\x02(" + value + b"1h\x28.")


@case("pickles")
def cycles_in_many_ways(folder):
    """Lists that all refer to each other."""
    count = 40
    value = b"".join(b"]q" + bytes([i]) + b"0" for i in range(count))
    for i in range(count):
        value += b"h" + bytes([i]) + b"(" + b"".join(b"h" + bytes([j]) for j in range(count)) + b"e0"
    return file_of(folder, pickled(value + dict_of((text("w"), GOOD_TENSOR), (text("x"), b"h\x00"))))


@case("pickles")
def memo_index_of_4_billion(folder):
    return state(folder, b"K\x01r\xff\xff\xff\xff0j\xff\xff\xff\xff")


@case("pickles")
def memo_indices_far_apart(folder):
    value = b"K\x01" + b"".join(b"r" + struct.pack("<I", i * 20_011) for i in range(200_000))
    return state(folder, value)


@case("pickles")
def memo_entry_that_is_not_there(folder):
    return state(folder, b"h\x07")


@case("pickles")
def memo_of_nothing(folder):
    return file_of(folder, b"\x80\x02q\x00.")


@case("pickles")
def memo_index_below_zero(folder):
    return state(folder, b"K\x01p-1\n")


@case("pickles")
def million_marks(folder):
    return file_of(folder, b"\x80\x02" + b"(" * 1_000_000 + b".")


@case("pickles")
def million_times_the_same(folder):
    return state(folder, b"](" + b"K\x01" + b"2" * 1_000_000 + b"e")


@case("pickles")
def million_empty_dicts(folder):
    return state(folder, b"](" + b"}" * 1_000_000 + b"e")


@case("pickles")
def million_equal_keys(folder):
    return state(folder, b"}(" + b"K\x01K\x02" * 500_000 + b"u")


# ---------------------------------------------------------------- lengths

def lengths(opcode, length):
    return lambda folder: state(folder, opcode + length + b"short")


for title, opcode, length in (
        ("binunicode_of_4_gib", b"X", b"\xff\xff\xff\xff"),
        ("binunicode8_of_2_to_63", b"\x8d", struct.pack("<Q", 1 << 63)),
        ("binbytes8_of_2_to_64", b"\x8e", b"\xff" * 8),
        ("bytearray8_of_1_tib", b"\x96", struct.pack("<Q", 1 << 40)),
        ("binbytes_of_2_gib", b"B", b"\x00\x00\x00\x80"),
        ("binstring_below_zero", b"T", b"\xff\xff\xff\xff"),
        ("long4_below_zero", b"\x8b", b"\xff\xff\xff\xff"),
        ("long4_of_2_gib", b"\x8b", b"\xff\xff\xff\x7f"),
        ("frame_of_2_to_64", b"\x95", b"\xff" * 8)):
    CASES["pickles/" + title] = lengths(opcode, length)


@case("pickles")
def integer_of_a_megabyte(folder):
    return state(folder, b"\x8b" + struct.pack("<i", 1 << 20) + b"\x7f" * (1 << 20))


@case("pickles")
def integer_of_a_million_digits(folder):
    return state(folder, b"I" + b"7" * 1_000_000 + b"\n")


@case("pickles")
def line_without_end(folder):
    return file_of(folder, b"\x80\x02S'" + b"a" * 1_000_000)


# ---------------------------------------------------------------- misuse

def misuse(value):
    return lambda folder: state(folder, value)


for title, value in (
        ("append_to_a_number", b"K\x01K\x02a"),
        ("appends_to_a_tuple", b")(K\x01e"),
        ("setitems_of_an_odd_count", b"}(K\x01K\x02K\x03u"),
        ("setitem_of_a_list", b"]K\x01K\x02s"),
        ("additems_to_a_list", b"](K\x01\x90"),
        ("dict_of_an_odd_count", b"(K\x01d"),
        ("build_of_none", b"N}b"),
        ("build_of_a_class", name("torch", "Tensor") + dict_of((text("__init__"), name("m", "f"))) + b"b"),
        ("reduce_of_a_number", b"K\x01)R"),
        ("reduce_without_a_tuple", name("m", "f") + b"K\x01R"),
        ("newobj_of_a_number", b"K\x01)\x81"),
        ("newobj_ex_without_a_dict", name("m", "f") + b")K\x01\x92"),
        ("stack_global_of_numbers", b"K\x01K\x02\x93"),
        ("append_below_the_mark", b"](K\x01a"),
        ("tuple_below_the_mark", b"K\x01(K\x02\x86"),
        ("list_as_a_key", b"}]K\x01s"),
        ("list_in_a_set", b"\x8f(]\x90"),
        ("text_that_is_no_utf8", b"X\x02\x00\x00\x00\xc3\x28"),
        ("text_of_half_a_pair", b"X\x03\x00\x00\x00\xed\xa0\x80"),
        ("quotes_that_do_not_match", b"S'a\"\n"),
        ("float_that_is_none", b"Fnot a number\n"),
        ("integer_that_is_none", b"I7even\n"),
        ("unicode_with_half_an_escape", b"V\\u12\n"),
        ("persistent_text", b"P/etc/passwd\n"),
        ("persistent_number", b"K\x01Q"),
        ("persistent_cycle", b"]q\x00h\x00aQ"),
        ("extension_code", b"\x84\xff\xff\xff\x7f"),
        ("buffer_beside_it", b"\x97\x98"),
        ("opcode_that_is_none", b"\xff"),
        ("protocol_255", b"\x80\xff"),
        ("two_values_at_the_end", b"K\x01K\x02.")):
    CASES["pickles/" + title] = misuse(value)


@case("pickles")
def stop_of_nothing(folder):
    return file_of(folder, b"\x80\x02.")


@case("pickles")
def stop_missing(folder):
    return file_of(folder, b"\x80\x02}")


@case("pickles")
def bytes_after_stop(folder):
    return file_of(folder, pickled(dict_of((text("w"), GOOD_TENSOR))) + b"cos\nsystem\n.")


@case("pickles")
def nothing_at_all(folder):
    return file_of(folder, b"")


def alone(code):
    return lambda folder: file_of(folder, b"\x80\x02" + code.encode("latin-1"))


for op in pickletools.opcodes:
    CASES["pickles/alone_" + op.name.lower()] = alone(op.code)


# ---------------------------------------------------------------- tensors that lie

@case("pickles")
def tensor_of_100000_dimensions(folder):
    return lie(tensor([1] * 100_000, [1] * 100_000))(folder)


def lie(value):
    return lambda folder: file_of(folder, pickled(dict_of((text("w"), value), (text("good"), GOOD_TENSOR))))


for title, value in (
        ("tensor_of_2_to_62", tensor([1 << 62, 2], [2, 1])),
        ("tensor_of_2_to_63", tensor([1 << 63], [1])),
        ("tensor_of_a_negative_size", tensor([-1], [1])),
        ("tensor_of_a_negative_stride", tensor([2], [-1])),
        ("tensor_of_a_negative_offset", tensor([2], [1], offset=-1)),
        ("tensor_that_repeats_one_element", tensor([1 << 40], [0])),
        ("tensor_past_its_storage", tensor([2, 2], [2, 1], offset=1)),
        ("tensor_of_other_strides", tensor([2, 2], [1])),
        ("tensor_of_no_storage", tensor([2], [1], stored=b"N")),
        ("tensor_of_an_unknown_storage", tensor([2], [1], stored=storage(kind="os"))),
        ("storage_that_is_not_there", tensor([2], [1], stored=storage(key="99"))),
        ("storage_outside", tensor([2], [1], stored=storage(key="../../../../etc/passwd"))),
        ("storage_larger_than_its_record", tensor([8], [1], stored=storage(items=8))),
        ("storage_of_2_to_62_items", tensor([2], [1], stored=storage(items=1 << 62))),
        ("storage_of_negative_items", tensor([2], [1], stored=storage(items=-4)))):
    CASES["pickles/" + title] = lie(value)
