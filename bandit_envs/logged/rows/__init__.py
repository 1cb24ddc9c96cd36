"""What the rows of a log are: whose, in which order, and which a policy has seen."""
