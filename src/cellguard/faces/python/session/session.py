"""`Session`: the outputs of a safe room, each protected together with all that was shown before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cellguard.errors import InputError, NotProtected, did_you_mean
from cellguard.faces.python.asking import (
    RESEARCH,
    AggFunc,
    AggFuncs,
    Asked,
    Figures,
    NamedColumn,
    Wanted,
    ask,
    bare,
    plain_column,
)
from cellguard.faces.python.coding import code_column, free_name
from cellguard.faces.python.crosstab import columns_of_functions
from cellguard.faces.python.habits import SESSION, no_attribute
from cellguard.faces.python.protect import Rules, job_rules
from cellguard.faces.python.result import ProtectedFrame
from cellguard.faces.python.session.folder import write_session
from cellguard.faces.python.session.memory import Output, statuses_of
from cellguard.faces.python.session.models import check_figure, check_model
from cellguard.faces.python.session.records import Chosen, Records
from cellguard.faces.python.session.requests import calling_line, in_order, listed_columns, renamed, with_secret
from cellguard.inputs.earlier_releases import Memory
from cellguard.inputs.shown.closeness import Closeness
from cellguard.inputs.shown.memory import Shown, remembered
from cellguard.inputs.shown.record_sets import Rows, digest
from cellguard.job.rulespec import parse_rule
from cellguard.rules.rule import fewest_of

_ROUNDS = 6  # how often cells that give few respondents away are suppressed and the rest is protected again
_BEFORE = "what was shown before"
_FEWEST = 10


class Session:
    """A researcher's outputs from one frame of records, each protected together with all that were shown before.

    Two outputs that differ by fewer respondents than a safe cell needs are never both released: cells that give these
    few away are suppressed, and an output about nearly the same records is refused.

    Parameters
    ----------
    data
        The records: a pandas or polars frame, an Arrow table or a mapping of columns. Columns of outputs are named, or
        are columns of this frame, filtered or recoded.
    rules
        The sensitivity rules of all outputs: by default `MinFrequency(10)`, and for sums `Dominance(2, 90)` and
        `PPercent(10)`.
    respondent, weight, holding
        The columns of who gave a record, of the survey weight, and of the group of the respondent.
    attack
        What an attacker knows, as in `protect`.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"sex": ["f", "m"] * 40, "region": ["N"] * 60 + ["S"] * 20}
    >>> session = cg.Session(people)
    >>> session.crosstab("region", "sex").crosstab().to_pydict()
    {'region': ['N', 'S'], 'f': [30, 10], 'm': [30, 10]}
    >>> session.crosstab("region", "sex", where=[False] + [True] * 79)
    Traceback (most recent call last):
    cellguard.errors.NotProtected: this output is about all records of output_0 but 1 respondent: their difference would
    tell about so few. Use the same records for both, or take output_0 back with session.remove('output_0')
    """

    def __init__(
        self,
        data: Any,  # noqa: ANN401
        *,
        rules: Rules | None = None,
        respondent: str | None = None,
        weight: str | None = None,
        holding: str | None = None,
        attack: Mapping[str, object] | None = None,
    ) -> None:
        self.records = Records(data)
        self._rules: Any = list(rules) if isinstance(rules, Sequence) else rules
        self._roles = {"respondent": respondent, "weight": weight, "holding": holding}
        for name in filter(None, self._roles.values()):
            self.records.column(name)
        self._attack = {"crossing": "not_checked", **(attack or {})}
        self.outputs: dict[str, Output] = {}
        self._count = 0
        self._names: dict[str, dict[tuple[str, str], str]] = {}  # of dimensions, by population
        named = holding or respondent
        who = None if named is None else plain_column(self.records.column(named)).to_pylist()
        self._closeness = Closeness(who, self.fewest)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            no_attribute(self, name, SESSION)

    def __repr__(self) -> str:
        listed = ", ".join(f"{uid} {output.status}" for uid, output in self.outputs.items())
        return f"<Session about {self.records.size:,} records: {listed or 'no outputs yet'}>"

    @property
    def fewest(self) -> int:
        """The least number of respondents of a safe cell."""
        return fewest_of(parse_rule(rule) for rule in job_rules(self._chosen(counted=False), "session")) or _FEWEST

    def crosstab(
        self,
        index: Any,  # noqa: ANN401
        columns: Any,  # noqa: ANN401
        values: Any = None,  # noqa: ANN401
        rownames: Sequence[object] | None = None,
        colnames: Sequence[object] | None = None,
        aggfunc: AggFunc | Sequence[AggFunc] | None = None,
        margins: bool = False,
        margins_name: str = "All",
        dropna: bool = True,
        normalize: bool | str | int = False,
        *,
        where: Any = None,  # noqa: ANN401
        comment: str = "",
        **more: Any,  # noqa: ANN401
    ) -> ProtectedFrame:
        """Cross columns as `cellguard.crosstab` does, protected together with all outputs before.

        Parameters
        ----------
        index, columns, values
            Columns of the session's frame, or their names.
        rownames, colnames, aggfunc, margins, margins_name, dropna, normalize, **more
            As in `cellguard.crosstab`.
        where
            For some of the records: a column of booleans, or codes by column, as ``{"sex": "f"}``.
        comment
            What the output checker should know.
        """
        if values is not None and aggfunc is None:
            raise InputError("give aggfunc='sum', 'mean' or 'count' together with `values`, as pandas asks for too")
        wanted = Wanted(aggfunc, margins, margins_name, dropna, normalize, self._chosen(counted=values is None))
        asked = {
            "row": listed_columns(index),
            "col": listed_columns(columns),
            "values": [] if values is None else [values],
        }
        return self._table("crosstab", asked, (rownames, colnames), wanted, where, comment, more)

    def pivot_table(
        self,
        *given: Any,  # noqa: ANN401
        values: str | Sequence[str] | None = None,
        index: Any = None,  # noqa: ANN401
        columns: Any = None,  # noqa: ANN401
        aggfunc: AggFuncs | None = None,
        margins: bool = False,
        dropna: bool = True,
        margins_name: str = "All",
        where: Any = None,  # noqa: ANN401
        comment: str = "",
        **more: Any,  # noqa: ANN401
    ) -> ProtectedFrame:
        """Summarise columns of the session's frame as `cellguard.pivot_table` does, with all outputs before.

        Parameters
        ----------
        *given
            ``values``, ``index``, ``columns`` and ``aggfunc`` (``"mean"``) may be given in this order without names.
            The frame itself may stand before them, as in pandas and ACRO.
        values, index, columns, aggfunc, margins, dropna, margins_name, **more
            As in `cellguard.pivot_table`.
        where, comment
            As in `crosstab`.
        """
        named = {"values": values, "index": index, "columns": columns, "aggfunc": aggfunc}
        values, index, columns, aggfunc = in_order(self.records, given, named).values()
        aggfunc = "mean" if aggfunc is None else aggfunc
        values = columns_of_functions(values, aggfunc)
        wanted = Wanted(aggfunc, margins, margins_name, dropna, rules=self._chosen(counted=values is None))
        asked = {"row": listed_columns(index), "col": listed_columns(columns), "values": listed_columns(values)}
        listed = isinstance(values, (list, tuple))
        return self._table("pivot_table", asked, (None, None), wanted, where, comment, more, listed=listed)

    def table(
        self,
        by: Sequence[str],
        value: str | None = None,
        *,
        where: Any = None,  # noqa: ANN401
        comment: str = "",
        **more: Any,  # noqa: ANN401
    ) -> ProtectedFrame:
        """Count records, or sum a column, by some columns, with all margins, together with all outputs before."""
        if isinstance(by, str):
            raise InputError(f"`by` must be a list of columns; give [{by!r}]")
        wanted = Wanted("sum" if value else None, margins=True, rules=self._chosen(counted=value is None))
        asked = {"row": list(by[:1]), "col": list(by[1:]), "values": [] if value is None else [value]}
        return self._table("table", asked, (None, None), wanted, where, comment, more)

    def regression(self, model: Any, *, comment: str = "") -> Any:  # noqa: ANN401
        """Record a fitted model of statsmodels (or alike): its degrees of freedom and counts are checked.

        Returns
        -------
        pandas.DataFrame
            The coefficients as they would be released.
        """
        checked = check_model(model, self.fewest, [o.checked for o in self.outputs.values() if o.checked])
        self._add(
            Output(
                self._uid(),
                "regression",
                calling_line("regression"),
                checked=checked,
                comments=[comment] if comment else [],
            )
        )
        return checked.frame()

    def figure(self, figure: Any, counts: Sequence[int] | None = None, *, comment: str = "") -> str:  # noqa: ANN401
        """Record a figure of matplotlib, or the path of one; ``counts`` are the records behind each bar or point.

        Returns
        -------
        str
            The name of the output.
        """
        checked = check_figure(figure, counts, self.fewest)
        return self._add(
            Output(
                self._uid(), "figure", calling_line("figure"), checked=checked, comments=[comment] if comment else []
            )
        )

    def exception(self, name: str, reason: str) -> None:
        """Say why an output that does not pass should be released all the same."""
        if not reason.strip():
            raise InputError("say why: `reason` is blank")
        self._output(name).exception = reason.strip()

    def comment(self, name: str, text: str) -> None:
        """Add a comment for the output checker."""
        self._output(name).comments.append(text)

    def remove(self, name: str) -> None:
        """Take an output back: it is not released, and no longer counts as shown."""
        self._output(name)
        del self.outputs[name]

    def rename(self, name: str, new: str) -> None:
        """Give an output another name."""
        output = self._output(name)
        if new in self.outputs:
            raise InputError(f"there is an output {new!r} already")
        output.uid = free_name(new, [])
        self.outputs = {output.uid if uid == name else uid: one for uid, one in self.outputs.items()}

    def finalise(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write one folder for the output checker: the outputs, a report, `results.json`, and the proof of all tables.

        Parameters
        ----------
        folder
            Where to write; `results.json` and `checksums` in it have the layout that SACRO's viewer opens.
        force
            Whether to replace an existing folder.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            If an output that does not pass has no exception with a reason, or the folder exists.
        NotProtected
            If the tables together are not proven safe.
        """
        open_ = [uid for uid, output in self.outputs.items() if output.status != "pass" and not output.exception]
        if not self.outputs:
            raise InputError("the session has no outputs yet")
        if open_:
            first = self.outputs[open_[0]]
            stands = "fails" if first.status == "fail" else "is for review"
            why = f" ({'; '.join(first.checked.words)})" if first.checked and first.checked.words else ""
            raise InputError(
                f"{open_[0]} {stands}{why} and has no reason: say session.exception({open_[0]!r}, 'why it is safe'), "
                f"or session.remove({open_[0]!r})"
            )
        return write_session(list(self.outputs.values()), self.records.size, self._attack, Path(folder), force=force)

    def _table(
        self,
        word: str,
        asked: Mapping[str, Sequence[Any]],
        names: tuple[Sequence[object] | None, Sequence[object] | None],
        wanted: Wanted,
        where: Any,  # noqa: ANN401
        comment: str,
        more: Mapping[str, Any],
        *,
        listed: bool | None = None,
    ) -> ProtectedFrame:
        """Protect a table with all that was shown before, and remember it."""
        roles = {role: [name] for role, name in self._roles.items() if name}
        roles |= {role: [more[role]] for role in self._roles if more.get(role) is not None}
        chosen = self.records.choose({**asked, **roles}, where)
        asked_for = len(chosen.rows)
        chosen = chosen.complete(("row", "col", "values") if wanted.dropna else ("values",))
        population = self._population(chosen.rows, asked_for - len(chosen.rows))
        shape = listed if word == "pivot_table" else None
        request = self._request(chosen, population, names, wanted, more, roles, shape)
        uid = self._uid()
        request = renamed(request, uid, population)
        frame, shown = self._protected(request, chosen, population, uid)
        output = Output(
            uid,
            "table",
            calling_line(word),
            frame=frame,
            shown=shown,
            comments=[comment] if comment else [],
            asked=request,
        )
        self._add(output)
        return frame

    def _request(
        self,
        chosen: Chosen,
        population: str,
        names: tuple[Sequence[object] | None, Sequence[object] | None],
        wanted: Wanted,
        more: Mapping[str, Any],
        roles: Mapping[str, Sequence[Any]],
        listed: bool | None,
    ) -> Asked:
        sides = []
        taken = list[str]()
        for side, titles in zip(("row", "col"), names, strict=True):
            columns = chosen.columns[side]
            if titles is not None and len(titles) != len(columns):
                raise InputError(f"`{side}names` must be a list of {len(columns)}, one name per column, not {titles!r}")
            found = []
            for number, column in enumerate(columns):
                name = self._name(population, column)
                if name in taken:
                    raise InputError(
                        f"the column {column.name!r} is asked for twice; a table crosses different columns"
                    )
                taken.append(name)
                found.append((name, titles[number] if titles else column.name, column.held))
            sides.append(found)
        if not taken:
            raise InputError("give at least one column in `index` or `columns`")
        figures = Figures.of({c.name: c for c in chosen.columns["values"]}, taken, len(chosen.rows), listed)
        columns_of_roles = {role: chosen.columns[role][0] for role in roles}
        asked = ask(sides[0], sides[1], figures, wanted, {**more, **columns_of_roles}, own_totals=True)
        asked = replace(asked, kind=self.records.kind)
        for table in asked.tables:  # one meaning of an empty cell in all outputs
            table["zeros"] = "known"
            table["protect"] = {"cost": table["protect"]["cost"]}
            table["population"] = population
        return asked

    def _protected(
        self, request: Asked, chosen: Chosen, population: str, uid: str
    ) -> tuple[ProtectedFrame, tuple[Shown, ...]]:
        """Return a table that is safe with all that was shown, and what it shows of the records."""
        secret: dict[str, dict[tuple[str, ...], str]] = {}
        dimensions = {coded.name: request.tree(coded) for coded in request.coded}
        memory = remembered(list(self.outputs.values()), population, list(dimensions))
        for _ in range(_ROUNDS):
            call = request.call()
            held, more = dict(call.held), dict(call.more)
            if memory:
                held[_BEFORE], more["previous"] = Memory(tuple(memory)), [_BEFORE]
            tables = [with_secret(table, secret.get(table["name"], {}), request, held) for table in call.tables]
            attack = {**self._attack, **call.attack}
            call = replace(call, tables=tables, held=held, more=more, attack=attack)
            frame = call.run(request.within, request.kind, request.shape)
            if frame.release is None:
                raise NotProtected(f"{uid} cannot be shown: {frame.verdict.text}")
            shown = statuses_of(frame, request, chosen.rows, population, self.records.size)
            near = self._closeness.near(shown, self.outputs.values())
            if not near:
                return frame, shown
            for name, cell in near:
                secret.setdefault(name, {})[cell] = "must_suppress"
        raise NotProtected(
            "this output differs from earlier ones by a few respondents in so many cells that nothing would be left; "
            "use the same groups and the same records as before, or take earlier outputs back with session.remove(...)"
        )

    def _population(self, rows: Rows, left_out: int) -> str:
        """Return the name of some records; records that differ by few from those of an earlier output are refused."""
        members = np.zeros(self.records.size, bool)
        members[rows] = True
        self._closeness.refuse_near(members, self.outputs.values(), left_out)
        return "all" if members.all() else f"part_{digest(rows)}"

    def _name(self, population: str, column: NamedColumn) -> str:
        """Return the name of a dimension: the same for the same codes, another one for another recoding."""
        coded = code_column(bare(column), "column", column.name)
        places = {code: i for i, code in enumerate(coded.codes)}
        word = digest(np.array([places.get(code, -1) for code in coded.column.to_pylist()]), words=coded.codes)
        names = self._names.setdefault(population, {})
        if (column.name, word) not in names:
            names[column.name, word] = free_name(column.name, list(names.values()))
        return names[column.name, word]

    def _chosen(self, *, counted: bool) -> Any:  # noqa: ANN401
        """Return the rules of an output: those of sums are none of counts."""
        if self._rules is not None:
            return self._rules
        return RESEARCH[:1] if counted else RESEARCH

    def _uid(self) -> str:
        self._count += 1
        return f"output_{self._count - 1}"

    def _add(self, output: Output) -> str:
        output.timestamp = datetime.now(UTC).isoformat(timespec="seconds")
        self.outputs[output.uid] = output
        return output.uid

    def _output(self, name: str) -> Output:
        if name not in self.outputs:
            raise InputError(f"no output {name!r}{did_you_mean(name, self.outputs)}")
        return self.outputs[name]
