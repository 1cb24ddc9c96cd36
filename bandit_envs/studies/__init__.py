"""Studies: many runs of policies in environments, their results on disk, tables and figures.

`study` reads a study and cuts it into tasks, `run` does a task, `backends` does many of them at
once, `results` keeps and loads what they found, and `tables` and `figures` show it.
"""
