"""Ranks: processes that have imported what they need before they begin."""
import torch.multiprocessing


def prepare():
    """To be called once, first in the script's main.

    Ranks come from a server that has imported PyTorch. Its compiler is what
    takes longest, and DTensor imports it whether it compiles or not.
    """
    torch.multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["torch._dynamo"])


def spawn(function, world, folder, *arguments):
    """Runs function(rank, world, meeting, ...) in as many processes.

    One even where world is 0, which is no process group.
    """
    meeting = folder / "meeting"
    meeting.unlink(missing_ok=True)
    torch.multiprocessing.start_processes(
        function, (world, meeting, *arguments), nprocs=max(world, 1),
        start_method="forkserver")
