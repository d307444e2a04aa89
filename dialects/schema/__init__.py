"""Dialects whose ops come from tables in torch's schema grammar.

- `grammar`: a row of a table, parsed into a `Schema`; `dialect`: op classes made on demand;
- `slots`: where each argument is stored; `values`: constants as attributes and back;
- `op`: `SchemaOp`, construction and reading; `printing`, `parsing`, `verifier`, `effects`;
- `promotion`, `result_rules`: result types from arguments, by family of ops;
- `names`: errors; `irdl`: a table op in xDSL's own terms.
"""
