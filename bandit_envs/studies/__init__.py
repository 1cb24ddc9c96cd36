"""Studies of policies in environments: what they are, how they run, what they leave on disk."""
