"""What a folder of results says of its study to workers, and the format of such folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandit_envs import __version__
from bandit_envs.base.saving import atomic_write

FORMAT = 5
"""Raised whenever the layout of the files, or the numbers of an unchanged study, change."""

VERSIONS = {"bandit_envs": __version__, "results": FORMAT, "numpy": np.__version__}

FILE = ".study.json"


class Assignment(NamedTuple):
    """What workers know of a study."""

    digest: str
    """Of the study and the versions."""

    study: Mapping[str, Any]
    """As `Study.to_dict` returns it."""

    versions: Mapping[str, object]
    """Those that workers must have."""

    modules: str
    """The folder of users' modules."""

    @classmethod
    def read(cls, folder: Path, token: str) -> Assignment:
        """Reads it from the folder of the tasks; ValueError if it is not that of the token."""
        file = folder / FILE
        content = file.read_bytes()
        if _digest(content) != token:
            raise ValueError(f"{file} is of another run; expected one run at a time")
        return cls(**json.loads(content))

    def write(self, folder: Path) -> None:
        """Writes it to the folder of the tasks."""
        atomic_write(folder / FILE, [self._encode()])

    @property
    def token(self) -> str:
        """What tells it from others."""
        return _digest(self._encode())

    def _encode(self) -> bytes:
        return json.dumps(self._asdict()).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
