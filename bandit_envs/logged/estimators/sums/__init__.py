"""What estimates are made of: sums over the rows of a log that merge, over parts in any order."""
