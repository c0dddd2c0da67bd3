"""The independent verifier: checks an output folder and its certificate in exact arithmetic, without a solver.

It shares no code with the parts that make such folders, so that a mistake there is not repeated here.
"""
