"""Writes the parts of the documentation that follow from the package, as Markdown.

`python -m colab.pages`, in the folder of the repository, writes all of them.
"""
