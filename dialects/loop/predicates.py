"""Numbers of the predicates of `arith.cmpi`, as MLIR has them."""

EQ, NE, SLT, SLE, SGT, SGE, ULT = range(7)
