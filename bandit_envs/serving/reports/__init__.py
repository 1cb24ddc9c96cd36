"""What a file of decisions tells, while services write to it."""
