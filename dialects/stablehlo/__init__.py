"""StableHLO: the dialects that programs of JAX and TensorFlow are written in.

`all_ops` has the dialects, made of the rows of `op_table`; `forms` and what stands beside it read
and print the pretty forms of their ops.
"""
