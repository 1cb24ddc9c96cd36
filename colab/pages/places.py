"""The pages of the documentation, and the comments around the parts that are written.

The first comment names the writer of a part, and what it needs:

    <!-- python -m colab.pages writes this: readme The first ten minutes -->
    ...
    <!-- end -->
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "colab" / "docs"

PART = re.compile(
    r"(?ms)^<!-- python -m colab\.pages writes this: (?P<writer>\w+) ?(?P<argument>[^\n]*?) -->\n"
    r".*?^<!-- end -->$"
)


COPY = DOCS / "changelog.md"
"""A copy that the build of the site makes."""


def relative(path: Path, page: Path) -> str:
    """Returns where a link from a page leads to a file."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


def pages() -> list[Path]:
    """Returns all pages."""
    return sorted({*DOCS.glob("*.md")} - {COPY})
