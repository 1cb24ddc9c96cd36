"""Builds the distributions, of which `setup.cfg` says all but how an index shows the README.

The README's links lead to files beside it. An index has no such files, so they lead to those that
the repository has at the tag of the version.
"""

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def read_description() -> str:
    """Returns the README with the addresses of files and pictures in place of their paths."""
    setup_cfg = ConfigParser()
    setup_cfg.read(ROOT / "setup.cfg", encoding="utf-8")
    url = setup_cfg["metadata"]["url"]
    module = (ROOT / "bandit_envs" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', module, re.MULTILINE)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r'(<img [^>]*src=")(?!https?:)', rf"\g<1>{url}/raw/v{version}/", text)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\g<1>{url}/blob/v{version}/", text)


setup(long_description=read_description(), long_description_content_type="text/markdown")
