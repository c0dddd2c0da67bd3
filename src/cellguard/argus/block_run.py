"""The run of one part of a batch: its tables are read, protected together, judged, and made into texts."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from cellguard.argus import commands as c
from cellguard.argus.batch_methods import METHODS
from cellguard.argus.batch_parser import KINDS
from cellguard.argus.blocks import Block, Settings, Specified
from cellguard.argus.changing import change, changing, said_of
from cellguard.argus.faults import placed
from cellguard.argus.job_files import Asked, write_job
from cellguard.argus.keyed_jobs import write_keyed_job
from cellguard.argus.micro_tables import tables_of_records
from cellguard.argus.outputs import Output, Outputs, endings
from cellguard.argus.own_table import UNSAFE, ArgusTable
from cellguard.argus.protecting import protect
from cellguard.argus.singletons import Options, options_of, with_singletons
from cellguard.argus.statements import apply_statements
from cellguard.argus.tab_tables import tables_of_files
from cellguard.argus.tabulating import Records
from cellguard.argus.writers.catalogue import SHOWS_HIDDEN, own_text, texts_of
from cellguard.errors import CellguardError, InputError
from cellguard.run_context import Event, Run

_MINUTE = 60.0
_ROUNDS = 8  # looks at the singleton options, each of which may suppress cells that ask for others


class _Teller(Protocol):
    """What a part of a batch needs of the whole."""

    within: Run
    verdicts: dict[int, str]
    seconds: float

    @property
    def folder(self) -> Path: ...

    def tell(self, text: str) -> None: ...


class BlockRun:
    """The run of one part of a batch; where its files go is checked before anything else."""

    def __init__(
        self, batch: _Teller, settings: Settings, block: Block, number: int, outputs: Outputs, work: Path
    ) -> None:
        self.batch, self.settings, self.block, self.number = batch, settings, block, number
        self.outputs, self.places, self.work = outputs, outputs.places, work
        self.tables: dict[int, ArgusTable] = {}
        self.records: Records | None = None
        self.before: dict[int, ArgusTable] = {}
        self.proven: set[int] = set()
        self.previous = tuple(self._folder(own) for own in settings.previous)
        self.targets = {write.line: self._target(write) for write in block.writes}

    def run(self) -> dict[int, ArgusTable]:
        """Read, protect, and make the texts of all files; nothing is written yet."""
        self._read()
        self.before = dict(self.tables)
        for group in self._groups():
            self._protect(group)
        self._judge()
        for write in self.block.writes:
            with placed(self.block.name, write.line):
                self._make(write)
        return self.tables

    def _target(self, write: c.WriteTable | c.Own) -> Path:
        with placed(self.block.name, write.line):
            name = write.file if isinstance(write, c.WriteTable) else write.args[1]
            return self.outputs.place(name, f"line {write.line}")

    def _read(self) -> None:
        if self.block.micro:
            made, self.records = tables_of_records(self.block, self.places, self.batch.tell, self.batch.within)
        else:
            made = tables_of_files(self.block, self.places, self.batch.tell)
        for read, asked in zip(made, self.block.tables, strict=True):
            table = read
            for said in asked.apriori:
                with placed(self.block.name, said.line):
                    table = apply_statements(table, said, self.places.find(said.file), self.batch.tell)
            self.tables[table.number] = table

    def _groups(self) -> list[list[c.Suppress]]:
        """Return the commands whose tables are protected together: all, unless only one of them is published."""
        if not self.block.suppress:
            return []
        if self.settings.alternatives:
            return [[command] for command in self.block.suppress]
        return [list(self.block.suppress)]

    def _protect(self, commands: Sequence[c.Suppress]) -> None:
        numbers = sorted({t.number for command in commands for t in self.block.tables_of(command.table)})
        tables = [self.tables[number] for number in numbers]
        for command in commands:
            self.batch.tell(_words(command, self.settings, len(self.block.tables_of(command.table))))
        if len(numbers) > 1 and len(commands) > 1:
            self.batch.tell(
                f"Tables {', '.join(map(str, numbers))} are protected together, since one attacker may have all"
            )
        started = time.process_time()
        if changing(commands):
            self._change(commands, tables)
            self._tell_seconds(started, self.batch.verdicts[numbers[0]])
            return
        asked = self._asked(commands, numbers)
        audited = any(self._wants_intervals(number) for number in numbers)
        folder = self.work / f"{self.number}_{'_'.join(map(str, numbers))}"
        folder.mkdir(mode=0o700)
        if asked.engine is None and self._engines(commands):
            tables = self._one_by_one(commands, numbers)
        done = protect(tables, asked, folder, within=self._limit(commands), intervals=audited, tell=self.batch.tell)
        options = {table.number: self._singletons(table.number, commands) for table in tables}
        for _ in range(_ROUNDS):
            more = [with_singletons(table, options[table.number]) for table in done.tables]
            if not any(count for _, count in more):
                break
            self.batch.tell(f"The singleton options ask for {sum(count for _, count in more):,} cells more")
            again = [table for table, _ in more]
            done = protect(again, asked, folder, within=self._limit(commands), intervals=audited)
        for table in done.tables:
            self.tables[table.number] = table
            self.proven.add(table.number)
            self.batch.verdicts[table.number] = done.outcome.verdict.text
            new = int(table.secondary.sum())
            self.batch.tell(f"Table {table.number}: {new:,} cells have been suppressed")
        self._tell_seconds(started, done.outcome.verdict.text)

    def _tell_seconds(self, started: float, verdict: str) -> None:
        seconds = time.process_time() - started
        self.batch.seconds += seconds
        self.batch.tell(f"{verdict} ({seconds:.1f} CPU seconds)")

    def _change(self, commands: Sequence[c.Suppress], tables: Sequence[ArgusTable]) -> None:
        """Replace the figures of tables by those that a method publishes."""
        if self.previous:
            raise InputError("PREVIOUS is for methods that suppress; leave it out")
        folder = self.work / f"{self.number}_{'_'.join(str(table.number) for table in tables)}"
        folder.mkdir(mode=0o700)
        with placed(self.block.name, commands[-1].line):
            said = said_of(commands, self.settings, self.batch.tell)
            if METHODS[commands[0].method].file:
                files = {command.file for command in commands}
                if len(files) > 1:
                    raise InputError("tables that are published together have one perturbation table; name the same")
                file = self.places.find(min(files)) if min(files) else None
                job = write_keyed_job(tables, self.records, file, self.settings, folder)
            else:
                asked = replace(self._attack([t for t in self.block.tables if t.number in said]), changes=said)
                job = write_job(tables, asked, folder)
            done = change(tables, job, within=self._limit(commands), tell=self.batch.tell)
        for table in done.tables:
            self.tables[table.number] = table
            self.proven.add(table.number)
            self.batch.verdicts[table.number] = done.outcome.verdict.text
            moved = int((table.value != table.original).sum())
            self.batch.tell(f"Table {table.number}: {moved:,} figures have been changed")

    def _singletons(self, number: int, commands: Sequence[c.Suppress]) -> Options:
        mine = [command for command in commands if command.table in {0, number}]
        return options_of(mine[-1]) if mine else Options()

    def _engines(self, commands: Sequence[c.Suppress]) -> set[str]:
        """Return the classical engines that the batch asks for."""
        if not self.settings.classical:
            return set()
        return {METHODS[command.method].engine for command in commands} - {""}

    def _one_by_one(self, commands: Sequence[c.Suppress], numbers: Sequence[int]) -> list[ArgusTable]:
        """Return tables of which each was protected by its own method; what they tell together comes after."""
        for command in commands:
            mine = [table.number for table in self.block.tables_of(command.table)]
            folder = self.work / f"alone_{self.number}_{command.line}"
            folder.mkdir()
            asked = self._asked([command], mine)
            done = protect([self.tables[n] for n in mine], asked, folder, within=self._limit([command]))
            shutil.rmtree(folder)
            for table in done.tables:
                self.tables[table.number] = table
        return [self.tables[number] for number in numbers]

    def _asked(self, commands: Sequence[c.Suppress], numbers: Sequence[int]) -> Asked:
        said = [table for table in self.block.tables if table.number in numbers]
        effort = self.settings.effort or ("best" if any(command.method == "OPT" for command in commands) else "normal")
        engines = self._engines(commands)
        alike = len(engines) == 1 and all(METHODS[command.method].engine for command in commands)
        return replace(self._attack(said), engine=min(engines) if alike else None, effort=effort)

    def _attack(self, said: Sequence[Specified]) -> Asked:
        """Return what the attacker of some tables knows and does."""
        return Asked(
            insiders=bool(self.settings.insiders) or any(table.singletons for table in said),
            previous=self.previous,
            nonstructural=frozenset(table.number for table in said if table.nonstructural),
        )

    def _folder(self, own: c.Own) -> Path:
        with placed(self.block.name, own.line):
            name = own.args[0]
            for path in (Path(name), self.places.batch / name):
                if path.is_dir():
                    if path.resolve().is_relative_to(self.batch.folder.resolve()):
                        raise InputError("PREVIOUS: this run replaces that folder; copy it to another name first")
                    return path / "results" if (path / "results").is_dir() else path
            raise InputError(f"PREVIOUS: there is no folder {name!r}; name the output folder of an earlier run")

    def _limit(self, commands: Sequence[c.Suppress]) -> Run:
        """Return a run that ends when the minutes of OPT or RND are over."""
        run = replace(self.batch.within, listen=self._heard)
        said = [(command.args, METHODS[command.method].minutes) for command in commands]
        minutes = [args[place] for args, place in said if 0 <= place < len(args)]
        if not minutes or min(minutes) <= 0:
            return run
        return replace(run, deadline=time.monotonic() + _MINUTE * max(minutes))

    def _heard(self, event: Event) -> None:
        """Tell what a classical method left unsafe; all else of a run is progress."""
        self.batch.within.listen(event)
        if "under-protected" in event.text:
            self.batch.tell(event.text)

    def _wants_intervals(self, number: int) -> bool:
        return any(
            write.table == number and write.options["AR"]
            if isinstance(write, c.WriteTable)
            else write.word == "AUDIT" and int(write.args[0]) == number
            for write in self.block.writes
        )

    def _is_early(self, write: c.WriteTable | c.Own) -> bool:
        """Return whether a table is written before it is suppressed."""
        mine = [s.line for s in self.block.suppress if s.table in {0, _number(write)}]
        return bool(mine) and write.line < min(mine)

    def _judge(self) -> None:
        """Refuse to publish tables that nobody protected, unless they are safe as they are, beside all others."""
        public = {w.table: w for w in self.block.writes if isinstance(w, c.WriteTable) and not _shows_hidden(w)}
        rest = {number: write for number, write in public.items() if number not in self.proven}
        if rest and not self.settings.alternatives:
            self._judge_set(sorted({*rest, *self.proven}), rest)
        elif rest:
            for number, write in rest.items():
                self._judge_set([number], {number: write})

    def _judge_set(self, numbers: Sequence[int], rest: dict[int, c.WriteTable]) -> None:
        tables = [self.tables[number] for number in numbers]
        if len(tables) == 1 and not tables[0].is_in(UNSAFE).any() and not tables[0].rule.uses_status:
            return
        folder = self.work / f"{self.number}_public"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        asked = self._attack([table for table in self.block.tables if table.number in numbers])
        words = ", ".join(map(str, rest))
        with placed(self.block.name, min(write.line for write in rest.values())):
            why = f"table {words} has not been suppressed, and is not safe as it is"
            cure = "add <SUPPRESS>, or write it with AS+ if it stays inside"
            try:
                done = protect(tables, asked, folder, within=self.batch.within, fixed=True)
            except CellguardError as error:
                raise InputError(f"{why} ({error}); {cure}") from None
            for table in done.tables:
                if table.number in rest and (table.secondary & ~self.tables[table.number].secondary).any():
                    raise InputError(f"{why}: it shows cells that another table suppresses; {cure}")

    def _make(self, write: c.WriteTable | c.Own) -> None:
        number, early, line = _number(write), self._is_early(write), f"line {write.line}"
        table = (self.before if early else self.tables)[number]
        target = self.targets[write.line]
        if isinstance(write, c.Own):
            self.outputs.add(Output(target, own_text(table, write.word), confidential=True), line)
            return
        secret = _shows_hidden(write)
        if early and not secret:
            raise InputError(
                f"table {number} is published before it is suppressed; put <WRITETABLE> after <SUPPRESS>, or write it "
                "with AS+ if it stays inside"
            )
        made = texts_of(table, write, target.stem)
        words = f"Table {number} has been written to {target} as {KINDS[write.kind]}."
        if early or (secret and number not in self.proven and table.unsafe.any()):
            words += " It is not suppressed: its statuses tell what is unsafe, and not what may be published."
        words += " It has the values of suppressed cells, too, and is confidential." if secret else ""
        for ending, path in endings(target, list(made)).items():
            self.outputs.add(Output(path, made[ending], secret, "" if ending else words), line)


def _number(write: c.WriteTable | c.Own) -> int:
    return write.table if isinstance(write, c.WriteTable) else int(write.args[0])


def _shows_hidden(write: c.WriteTable) -> bool:
    true = write.kind == 7 and (write.options["AO"] or write.options["AD"])
    return SHOWS_HIDDEN[write.kind] or true or (write.kind != 1 and write.options["AS"])


def _words(command: c.Suppress, settings: Settings, tables: int) -> str:
    """Say which engine runs for a command."""
    name = f"{command.method} for {'all tables' if command.table == 0 else f'table {command.table}'}"
    if METHODS[command.method].changes:
        return f"{name}: {METHODS[command.method].words}"
    if command.method == "OPT":
        return f"{name}: the search for the optimum"
    if settings.classical and METHODS[command.method].engine:
        return f"{name}: the classical method, followed by our audit"
    linked = ", as one linked set" if tables > 1 else ""
    return f"{name}: our proven engine in its place{linked} (<CELLGUARD> METHODS classical runs the original)"
