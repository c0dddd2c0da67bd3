"""The independent verifier: checks an output folder and its certificate in exact arithmetic, without a solver.

It shares no code with the parts that make such folders, so that a mistake there is not repeated here. Whatever is wrong
with the files is a failed check; only a certificate that is not there at all raises `InputError`.
"""
