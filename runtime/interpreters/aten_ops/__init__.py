"""NumPy semantics of ATen overloads, one file for each family."""
