"""The questions: what can matter, what one pair does, what the worst case is, who is affected, how strong is that."""
