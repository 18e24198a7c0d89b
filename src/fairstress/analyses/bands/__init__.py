"""How sure: replicates of the data, and the limits that are read off them."""
