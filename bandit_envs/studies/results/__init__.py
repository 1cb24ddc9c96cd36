"""What a study has found: records and packs on disk, and tables that compare them."""

__all__: list[str] = []
