"""Linear and mixed-integer programs as plain data, and the one file that knows the solver."""
