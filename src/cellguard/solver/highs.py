"""HiGHS, behind `solver.open`: the only file that imports highspy. Every status is checked; nothing is printed."""

from __future__ import annotations

from threading import Event, Thread

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import FloatArray
from cellguard.errors import InternalError
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.optimal,
    highspy.HighsModelStatus.kInfeasible: Status.infeasible,
    highspy.HighsModelStatus.kUnbounded: Status.unbounded,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.unbounded,
    highspy.HighsModelStatus.kTimeLimit: Status.stopped,
    highspy.HighsModelStatus.kIterationLimit: Status.stopped,
    highspy.HighsModelStatus.kSolutionLimit: Status.stopped,
    highspy.HighsModelStatus.kInterrupt: Status.stopped,
    highspy.HighsModelStatus.kUnknown: Status.stopped,  # even from scratch the solver could not tell
}
_DUAL, _PRIMAL = 1, 4  # HiGHS's numbers for the two simplex algorithms
_MINIMISE = 1
_NOTHING = np.zeros(0)
_LARGE = 3_000  # columns from which a solve may take so long that somebody wants to stop it
_OFTEN = 0.2  # seconds between two looks at whether to stop


class Session:
    """A program inside the solver. Costs and bounds may change between solves, which then start from the last basis.

    ``interior`` asks for a point in the middle of all that are optimal, by interior points without crossover.
    Threads are a process-wide setting of HiGHS, so every session uses one: results must not depend on their number.
    A ``brief`` session is for thousands of short programs: being watched takes a tenth of their time.
    """

    def __init__(
        self,
        program: Program,
        run: Run,
        *,
        presolve: bool = False,
        primal: bool = False,
        interior: bool = False,
        brief: bool = False,
    ) -> None:
        self._watch, self._brief = run, brief
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        self._mixed = program.integer is not None
        self._looks = 0
        self._set("output_flag", False)
        self._set("threads", 1)
        self._set("random_seed", 1)
        self._set("presolve", "on" if presolve or self._mixed else "off")
        self._set("primal_feasibility_tolerance", 1e-9)
        self._set("dual_feasibility_tolerance", 1e-9)
        if self._mixed:
            self._set("mip_rel_gap", 0.0)
            self._set("mip_abs_gap", 1e-6)
        elif interior:
            self._set("solver", "ipm")
            self._set("run_crossover", "off")
        else:
            self._set("solver", "simplex")
            self._set("simplex_strategy", _DUAL)
        self._primal = primal
        self._check_entries(_pass(self._highs, program), "passModel")

    def load(self, program: Program) -> None:
        """Take another linear program, which is solved from scratch: a new session would take longer than it."""
        self._check_entries(_pass(self._highs, program), "passModel")

    def set_cost(self, columns: npt.NDArray[np.integer], cost: FloatArray) -> None:
        """Change the costs of some columns."""
        self._check(self._highs.changeColsCost(len(columns), columns.astype(np.int32), cost), "changeColsCost")

    def set_bounds(self, columns: npt.NDArray[np.integer], lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns."""
        done = self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)
        self._check(done, "changeColsBounds")

    def solve(self) -> Solution:
        """Solve, and return the solution if there is one."""
        # A warning (say, an unbounded ray found late) still has a model status that tells the truth.
        status = self._first_of_primal() if self._primal else self._run()
        return self._solution(self._run_again() if status == highspy.HighsModelStatus.kUnknown else status)

    def close(self) -> None:
        """Give the solver's memory back now: its objects refer to themselves, and so would wait to be collected."""
        self._check(self._highs.clear(), "clear")

    def solve_afresh(self) -> Solution:
        """Solve from scratch: for a program that has a solution, although its last basis did not lead there."""
        return self._solution(self._run_again())

    def _solution(self, status: highspy.HighsModelStatus) -> Solution:
        if status not in _STATUS:
            raise InternalError(f"the solver ended with {status}")
        info = self._highs.getInfo()
        bound = float(info.mip_dual_bound) if self._mixed else float(info.objective_function_value)
        if status != highspy.HighsModelStatus.kOptimal and not self._has_point(info):
            return Solution(_STATUS[status], np.nan, _NOTHING, _NOTHING, bound if self._mixed else -np.inf)
        solution = self._highs.getSolution()
        return Solution(
            _STATUS[status],
            float(info.objective_function_value),
            np.asarray(solution.col_value, float),
            np.asarray(solution.row_dual, float),
            bound,
        )

    def _first_of_primal(self) -> highspy.HighsModelStatus:
        """Solve for the first time, without a basis: presolve and the dual algorithm are several times as quick there.

        From their basis the primal algorithm goes on, whatever costs change.
        """
        before = self._highs.getOptionValue("presolve")[1]
        self._set("presolve", "on")
        status = self._run()
        self._set("presolve", before)
        self._set("simplex_strategy", _PRIMAL)
        self._primal = False
        return status

    def _run(self) -> highspy.HighsModelStatus:
        large = self._mixed or (self._highs.getNumCol() >= _LARGE and not self._brief)
        if (self._run_watched() if large else self._highs.run()) == highspy.HighsStatus.kError:
            return highspy.HighsModelStatus.kUnknown  # a basis that cannot be factored, say
        return self._highs.getModelStatus()

    def _run_again(self) -> highspy.HighsModelStatus:
        """Solve from scratch, with presolve and, if need be, the other algorithm: a basis may be beyond repair."""
        before = self._highs.getOptionValue("presolve")[1]
        self._set("presolve", "on")
        status = highspy.HighsModelStatus.kUnknown
        for algorithm in ("simplex", "ipm"):
            self._check(self._highs.clearSolver(), "clearSolver")
            self._set("solver", algorithm)
            status = self._run()
            if status != highspy.HighsModelStatus.kUnknown:
                break
        self._set("solver", "choose" if self._mixed else "simplex")
        self._set("presolve", before)
        return status

    def _run_watched(self) -> highspy.HighsStatus:
        """Run in a thread, so that Ctrl-C and the run's end can stop the solver, which hears neither by itself."""
        ended, over = [highspy.HighsStatus.kError], Event()
        if not self._highs.HandleUserInterrupt:  # each time that it is set, it listens once more
            self._highs.HandleUserInterrupt = True

        def run() -> None:
            try:
                ended[0] = self._highs.run()
            finally:
                over.set()

        Thread(target=run, daemon=True).start()
        try:
            while not over.wait(_OFTEN):
                self._watch.check()
        except BaseException:
            self._highs.cancelSolve()  # type: ignore[no-untyped-call]
            over.wait()
            raise
        return ended[0]

    def _has_point(self, info: highspy.HighsInfo) -> bool:
        """Whether an integer program that was stopped has found a point."""
        return self._mixed and info.primal_solution_status == 2

    def add_rows(self, rows: sp.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        """Add constraints; the next solve starts from the last basis."""
        done = self._highs.addRows(
            rows.shape[0],
            lower,
            upper,
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data.astype(float),
        )
        self._check_entries(done, "addRows")

    def start_from(self, x: FloatArray) -> None:
        """Give an integer program a point to start from."""
        point = highspy.HighsSolution()
        point.col_value = x.tolist()
        self._check(self._highs.setSolution(point), "setSolution")

    def limit_nodes(self, nodes: int, *, gap: float = 0.0) -> None:
        """Stop an integer program after so many nodes, or at a relative gap."""
        self._set("mip_max_nodes", nodes)
        self._set("mip_rel_gap", gap)

    def limit_looks(self, looks: int) -> None:
        """Stop an integer program once it has looked so many times whether to stop: in every node, and often at the
        root.

        Looks are counted, not timed, so that the same program always ends at the same point.
        """
        self._looks = 0

        def look(event: highspy.HighsCallbackEvent) -> None:
            self._looks += 1
            if self._looks >= looks and event.data_in is not None:
                event.data_in.user_interrupt = True

        self._highs.cbMipInterrupt += look

    @property
    def iterations(self) -> int:
        """How many simplex iterations the last solve took."""
        return int(self._highs.getInfo().simplex_iteration_count)

    def _set(self, option: str, value: bool | int | float | str) -> None:
        self._check(self._highs.setOptionValue(option, value), f"option {option}")

    def _check(self, status: highspy.HighsStatus, what: str) -> None:
        if status != highspy.HighsStatus.kOk:
            raise InternalError(f"the solver refused {what}")

    def _check_entries(self, status: highspy.HighsStatus, what: str) -> None:
        """Check what was said to a matrix: a warning says that entries below 1e-9 were dropped, which is no refusal."""
        self._check(highspy.HighsStatus.kOk if status == highspy.HighsStatus.kWarning else status, what)


def _pass(highs: highspy.Highs, program: Program) -> highspy.HighsStatus:
    """Hand a program over as flat arrays, which takes a quarter of the time of filling in a model."""
    matrix, columns = program.matrix, program.matrix.shape[1]
    whole = np.zeros(columns, np.int32) if program.integer is None else program.integer.astype(np.int32)
    return highs.passModel(
        columns,
        matrix.shape[0],
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        _MINIMISE,
        0.0,
        np.asarray(program.cost, float),
        np.asarray(program.lower, float),
        np.asarray(program.upper, float),
        np.asarray(program.row_lower, float),
        np.asarray(program.row_upper, float),
        matrix.indptr.astype(np.int32, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        np.asarray(matrix.data, float),
        whole,
    )
