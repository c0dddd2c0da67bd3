"""A linear or integer program over combinations: solved again and again with other objectives."""

from __future__ import annotations

import highspy
import numpy as np

_OPTIMAL = highspy.HighsModelStatus.kOptimal
_INFEASIBLE = highspy.HighsModelStatus.kInfeasible


class Undecided(Exception):
    """The solver gave no answer."""


class Program:
    """Points w with row_lower <= matrix w <= row_upper and lower <= w <= upper; whole where ``whole`` says so."""

    def __init__(self, matrix, row_lower, row_upper, lower, upper, whole=None) -> None:
        self._highs = highspy.Highs()
        for name, value in {
            "output_flag": False,
            "threads": 1,
            "random_seed": 1,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": 1e-6,
            "mip_feasibility_tolerance": 1e-9,
            "primal_feasibility_tolerance": 1e-9,
            "presolve": "off" if whole is None else "on",
            "time_limit": 20.0,
        }.items():
            assert self._highs.setOptionValue(name, value) == highspy.HighsStatus.kOk, name
        self.n = matrix.shape[1]
        self._pass(matrix, row_lower, row_upper, lower, upper, whole)

    def _pass(self, matrix, row_lower, row_upper, lower, upper, whole) -> None:
        rows, columns = np.nonzero(matrix)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = np.zeros(self.n)
        model.col_lower_, model.col_upper_ = np.asarray(lower, float), np.asarray(upper, float)
        model.row_lower_, model.row_upper_ = np.asarray(row_lower, float), np.asarray(row_upper, float)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.searchsorted(rows, np.arange(matrix.shape[0] + 1)).astype(np.int32)
        model.a_matrix_.index_ = columns.astype(np.int32)
        model.a_matrix_.value_ = matrix[rows, columns].astype(float)
        if whole is not None:
            kinds = {False: highspy.HighsVarType.kContinuous, True: highspy.HighsVarType.kInteger}
            model.integrality_ = [kinds[bool(w)] for w in whole]
        assert self._highs.passModel(model) == highspy.HighsStatus.kOk

    def furthest(self, objective) -> np.ndarray | None:
        """The point with the largest objective; None if there is no point at all."""
        everything = np.arange(self.n, dtype=np.int32)
        assert self._highs.changeColsCost(self.n, everything, -np.asarray(objective, float)) == highspy.HighsStatus.kOk
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == _INFEASIBLE:
            return None
        if status != _OPTIMAL:
            raise Undecided(str(status))
        return np.asarray(self._highs.getSolution().col_value)
