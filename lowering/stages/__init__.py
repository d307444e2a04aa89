"""Programs cut into stages, where sizes depend on data and have no bound.

`choose-stages` says in front of which ops a stage begins, and which numbers are sizes from there
on; `outline-stages` makes a function of each stage. In a stage the sizes that stages in front of it
give are those of its arguments, so that it is compiled as a program of open sizes is.
"""
