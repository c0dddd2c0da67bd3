"""`source`: a perturbed source that is asked for tables, one after the other, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource
from cellguard.answers.question import Question
from cellguard.answers.tables import answer_table
from cellguard.faces.python.python_words import in_python
from cellguard.pipeline.sources import open_source


def source(folder: str | Path) -> AskedSource:
    """Open a source: a folder with `source.yaml`, which names a job, its multipliers and a register of answers.

    Parameters
    ----------
    folder
        The folder of the source.

    Returns
    -------
    AskedSource
        The source. ``.table(by, value=, where=, levels=)`` answers a question; ``.variables``, ``.values`` and
        ``.exposure`` say what may be asked and how much was told.

    Raises
    ------
    InputError
        If records, multipliers and register do not go together.

    Examples
    --------
    >>> source("no such folder")
    Traceback (most recent call last):
    cellguard.errors.InputError: no source.yaml in 'no such folder'; it names the job and the multipliers of the source
    """
    with in_python():
        return AskedSource(open_source(folder))


class AskedSource:
    """A source in memory, with its multipliers and the register of all that was ever answered from it.

    Every answer is checked together with all answers before, and is in the register before it is returned.
    """

    def __init__(self, opened: AnsweringSource) -> None:
        self._source = opened

    def __repr__(self) -> str:
        shares = [f"{name} {100 * share:.1f} %" for name, share in self.exposure.items()]
        told = f"; told of {', '.join(shares)}" if shares else ""
        return f"<source {self._source.folder.name}: by {', '.join(self.variables)}{told}>"

    @property
    def variables(self) -> tuple[str, ...]:
        """What tables may be asked by."""
        return tuple(self._source.variables)

    @property
    def values(self) -> tuple[str, ...]:
        """What may be summed."""
        return self._source.values

    @property
    def exposure(self) -> Mapping[str, float]:
        """For each value the share of all that could be told that is told: independent cells / respondents."""
        return self._source.exposure

    def table(
        self,
        by: Sequence[str],
        *,
        value: str = "count",
        where: Mapping[str, str | Sequence[str]] | None = None,
        levels: Mapping[str, int | Sequence[int]] | None = None,
        who: str = "local",
    ) -> AnsweredTable:
        """Ask for a table.

        Parameters
        ----------
        by
            The variables.
        value
            What is summed.
        where
            For some of the records: a code, or several, of variables.
        levels
            The levels shown of some variables; 0 is the total.
        who
            Who asks, as the register keeps it.

        Returns
        -------
        AnsweredTable
            The table, or no and why.
        """
        with in_python():
            answer = self._source.ask(Question.of(by, where=where, value=value, levels=levels), who=who)
        return AnsweredTable(answer, self._source.checked, self._source.not_checked)

    def close(self) -> None:
        """Let go of the register."""
        self._source.close()


class AnsweredTable:
    """An answer: a table that may be published, with None where a cell is withheld; or no, and why."""

    def __init__(self, answer: Answer, checked: tuple[str, ...], not_checked: tuple[str, ...]) -> None:
        self._answer, self._checked, self._not_checked = answer, checked, not_checked

    def __bool__(self) -> bool:
        return self._answer.answered

    def __repr__(self) -> str:
        answer = self._answer
        if not answer.answered:
            instead = [f"\n  {question.words}" for question in answer.instead]
            return f"No: {answer.reason}." + (f" These would be answered:{''.join(instead)}" if instead else "")
        return f"{answer.question.words}: {len(answer.values):,} cells, {answer.withheld:,} withheld" + (
            f" ({answer.reason})" if answer.reason else ""
        )

    def _repr_html_(self) -> str:
        if not self._answer.answered:
            return f"<p>{escape(repr(self))}</p>"
        table = self.to_arrow().to_pydict()
        head = "".join(f"<th>{escape(name)}</th>" for name in table)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(str(entry))}</td>' for entry in row)}</tr>"
            for row in zip(*table.values(), strict=True)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{escape(repr(self))}</p>"

    @property
    def reason(self) -> str:
        """Why the answer is no, or why cells are withheld."""
        return self._answer.reason

    @property
    def instead(self) -> tuple[dict[str, Any], ...]:
        """Questions that would be answered, each as arguments of `AskedSource.table`."""
        return tuple(question.plain() for question in self._answer.instead)

    @property
    def repeated(self) -> bool:
        """Whether this was answered before, so that it cost nothing."""
        return self._answer.repeated

    @property
    def new_cells(self) -> int:
        """How many cells tell something that no answer before told."""
        return self._answer.new

    @property
    def checked(self) -> tuple[str, ...]:
        """What was looked at over all answers together."""
        return self._checked

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What was not looked at."""
        return self._not_checked

    def to_arrow(self) -> pa.Table:
        """Return the table: a column per variable, ``value``, and ``flag`` (x: withheld)."""
        return answer_table(self._answer)

    def to_pandas(self) -> Any:  # noqa: ANN401
        """Return the table as a pandas frame."""
        return self.to_arrow().to_pandas()
