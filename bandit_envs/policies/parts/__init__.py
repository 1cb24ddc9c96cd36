"""Models and rules by name, as users write them and as files hold them."""

__all__: list[str] = []
