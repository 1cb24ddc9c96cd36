"""The environment interface and what it is made of, on NumPy alone."""

__all__: list[str] = []
