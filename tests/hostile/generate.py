"""All hostile inputs, by name: the rows of expected/*.txt."""
from cases import CASES  # noqa: F401
import bombs  # noqa: F401
import collisions  # noqa: F401
import metadata  # noqa: F401  each registers its cases
import paths  # noqa: F401
import pickles  # noqa: F401
import sharing  # noqa: F401
import zips  # noqa: F401
