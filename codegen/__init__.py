"""Scheduled loops to machine code: LLVM IR text, vector math, object code, loading.

Nothing here knows what a tensor program is; the input is the scheduled level of `loop`.
"""
