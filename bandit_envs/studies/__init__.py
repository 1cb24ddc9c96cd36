"""Studies: many runs of policies in environments, their results on disk, tables and figures."""
