"""Adapters to other frameworks: the only modules that import one."""

__all__: list[str] = []
