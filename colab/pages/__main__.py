"""Writes all parts and all pictures, and says which files it changed."""

from colab.pages.parts import rewrite
from colab.pages.pictures import draw_old_pictures
from colab.pages.places import ROOT, pages


def main() -> None:
    """Writes what is old."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        written = rewrite(text, page)
        if written != text:
            page.write_text(written, encoding="utf-8")
            print(page.relative_to(ROOT))
    for path in draw_old_pictures():
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
