"""How lines of figures and charts look."""

# Okabe & Ito's palette, which readers who do not see all colours can tell apart.
COLORS = ("#009E73", "#D55E00", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Colours of lines that people with any sight tell apart, by Okabe and Ito."""

LINES = ("-", "--", ":", "-.")
"""Styles of lines, once all colours are taken."""

STYLES = [{"ls": line, "color": color} for line in LINES for color in COLORS]
"""Colours with styles, in the order in which lines take them."""

MOST = len(STYLES)
"""So many lines can be told apart."""
