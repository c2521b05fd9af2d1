"""Names in the metadata that lead elsewhere, and things in a checkpoint's folder that are no files."""
import os
import socket

from cases import CASES, case, integer, text, write
from metadata import ITEM, STEP, Checkpoint


def outside(folder):
    """What must not be read: a whole item that is not part of the checkpoint."""
    write(folder, "outside.distcp", ITEM + STEP)


def named(path, data_name=None):
    def make(folder):
        outside(folder)
        return Checkpoint(info_relative_path=text(path)).write(folder, data_name)
    return make


for title, path in (
        ("parent", "../outside.distcp"), ("parent_of_a_folder", "sub/../../outside.distcp"),
        ("parent_within", "sub/../__0_0.distcp"), ("absolute", "/etc/passwd"), ("device", "/dev/zero"),
        ("own_descriptor", "/proc/self/fd/0"), ("dot", "."), ("dots", ".."), ("empty", ""),
        ("slash_at_the_end", "__0_0.distcp/"), ("slashes", "//__0_0.distcp"), ("newline", "__0_0\n.distcp"),
        ("escape", "__0\x1b[31m_0.distcp"), ("title", "\x1b]0;owned\x07.distcp"), ("nul", "__0_0.distcp\x00.txt"),
        ("backslashes", "..\\..\\outside.distcp"), ("drive", "C:\\outside.distcp"), ("url", "file:///etc/passwd"),
        ("turned_around", "\u202egnp.distcp"), ("half_a_pair", "__\ud800_0.distcp"), ("tilde", "~/.ssh/id_rsa"),
        ("metadata_itself", ".metadata"), ("of_100000_bytes", "n" * 100_000), ("of_many_parts", "a/" * 5000 + "b"),
        ("shell", "$(touch ran).distcp"), ("option", "--force")):
    CASES["paths/" + title] = named(path)


def replaced(make):
    """A good checkpoint whose data file is something else."""
    def register(folder):
        outside(folder)
        Checkpoint().write(folder, None)
        make(folder, os.path.join(folder, "ckpt", "__0_0.distcp"))
        return "ckpt"
    CASES["paths/" + make.__name__] = register
    return make


@replaced
def file_is_a_link_outside(folder, path):
    os.symlink("../outside.distcp", path)


@replaced
def file_is_an_absolute_link(folder, path):
    os.symlink("/etc/passwd", path)


@replaced
def file_is_a_link_to_a_device(folder, path):
    os.symlink("/dev/zero", path)


@replaced
def file_is_a_link_to_itself(folder, path):
    os.symlink("__0_0.distcp", path)


@replaced
def file_is_a_link_to_nothing(folder, path):
    os.symlink("gone.distcp", path)


@replaced
def file_is_a_link_within(folder, path):
    write(folder, "ckpt/real/data", ITEM + STEP)
    os.symlink("real/data", path)


@replaced
def file_is_a_fifo(folder, path):
    os.mkfifo(path)


@replaced
def file_is_a_folder(folder, path):
    os.mkdir(path)


@replaced
def file_is_a_socket(folder, path):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # names of sockets are short
    socket.socket(socket.AF_UNIX).bind(os.path.basename(path))
    os.chdir(here)


@replaced
def file_is_empty(folder, path):
    write(folder, "ckpt/__0_0.distcp", b"")


@replaced
def file_is_sparse_and_large(folder, path):
    with open(path, "wb") as file:
        file.truncate(1 << 26)


@case("paths")
def folder_is_a_link_outside(folder):
    write(folder, "elsewhere/__0_0.distcp", ITEM + STEP)
    Checkpoint(info_relative_path=text("sub/__0_0.distcp")).write(folder, None)
    os.symlink("../elsewhere", os.path.join(folder, "ckpt", "sub"))
    return "ckpt"


@case("paths")
def metadata_is_a_fifo(folder):
    os.makedirs(os.path.join(folder, "ckpt"))
    os.mkfifo(os.path.join(folder, "ckpt", ".metadata"))
    return "ckpt"


@case("paths")
def metadata_is_a_folder(folder):
    os.makedirs(os.path.join(folder, "ckpt", ".metadata"))
    return "ckpt"


@case("paths")
def metadata_is_a_link_outside(folder):
    write(folder, "elsewhere/.metadata", Checkpoint().pickle())
    write(folder, "ckpt/__0_0.distcp", ITEM + STEP)
    os.symlink("../elsewhere/.metadata", os.path.join(folder, "ckpt", ".metadata"))
    return "ckpt"


@case("paths")
def source_is_a_fifo(folder):
    os.mkfifo(os.path.join(folder, "input.pt"))
    return "input.pt"


@case("paths")
def source_is_a_device(folder):
    os.symlink("/dev/zero", os.path.join(folder, "input.pt"))
    return "input.pt"


@case("paths")
def source_is_a_link_to_itself(folder):
    os.symlink("ckpt", os.path.join(folder, "ckpt"))
    return "ckpt"


@case("paths")
def folder_of_odd_names(folder):
    """Not a checkpoint; its files are listed."""
    for name in ("a\nb", "\x1b[2Jx", "\x07", "\u202egnp", "-rf"):
        write(folder, "ckpt/" + name + ".distcp", b"x")
    write(folder, "ckpt/" + os.fsdecode(b"\xff\xfe") + ".distcp", b"x")
    return "ckpt"


@case("paths")
def rest_of_odd_names(folder):
    """A good checkpoint, with files beside that nothing refers to."""
    for name in ("__1_0\n.distcp", "\x1b[31m.distcp", ".metadata.tmp"):
        write(folder, "ckpt/" + name, b"x")
    return Checkpoint().write(folder)


@case("paths")
def offset_into_a_file_outside(folder):
    """A link that leads out, and an offset that would read its end."""
    outside(folder)
    Checkpoint(info_offset=integer(len(ITEM))).write(folder, None)
    os.symlink("../outside.distcp", os.path.join(folder, "ckpt", "__0_0.distcp"))
    return "ckpt"
