"""What evaluations show: figures, and a page to hand on."""
