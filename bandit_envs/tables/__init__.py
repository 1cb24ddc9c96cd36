"""Users' tables: how they are found, read and encoded, and what their columns are.

Experimental: these names may change in any minor version.
"""

from bandit_envs.tables.encoding import NumberColumn, TableEncoding, TextColumn, TimeColumn

__all__ = ["NumberColumn", "TableEncoding", "TextColumn", "TimeColumn"]
