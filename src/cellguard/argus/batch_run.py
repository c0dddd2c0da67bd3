"""A batch from its file to its results: everything is read and checked, then protected, and only then written."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from cellguard.argus import commands as c
from cellguard.argus.batch_parser import KINDS, read_batch, without_interactive
from cellguard.argus.blocks import Block, Plan, Settings, plan_of
from cellguard.argus.faults import BatchError
from cellguard.argus.job_files import Asked
from cellguard.argus.logbook import Logbook
from cellguard.argus.micro_tables import tables_of_records
from cellguard.argus.own_table import UNSAFE, ArgusTable
from cellguard.argus.places import Places
from cellguard.argus.protecting import protect
from cellguard.argus.singletons import Options, options_of, with_singletons
from cellguard.argus.statements import apply_statements
from cellguard.argus.tab_tables import tables_of_files
from cellguard.argus.writers.hst import hst_text
from cellguard.argus.writers.intermediate import intermediate
from cellguard.argus.writers.jj import jj_file
from cellguard.argus.writers.plain_tables import code_value, csv_table, sbs
from cellguard.errors import CellguardError, InputError
from cellguard.io.write import csv_text
from cellguard.run_context import Event, Run

OK, INTERACTIVE, FAILED = 0, 1, 2
FOLDER = ".cellguard"  # what the folder of the job and the proof ends with, after the name of the batch
_MINUTE = 60.0
_ROUNDS = 8  # looks at the singleton options, each of which may suppress cells that ask for others
_CLASSICAL = {"MOD": "modular", "GH": "hypercube"}
_PUBLIC = (1, 2, 3)  # the formats that hide what is suppressed, unless statuses are asked for


@dataclass
class BatchRun:
    """One run of a batch; ``say`` is told what also goes into the logbook.

    When it is over, ``tables`` are the tables as they were written, ``verdicts`` what was proven of those that were
    protected, and ``seconds`` what that took of the processor.
    """

    path: Path
    logbook: Logbook
    data: Path | None = None
    say: Callable[[str], None] = print
    within: Run = field(default_factory=Run)
    tables: list[ArgusTable] = field(default_factory=list)
    verdicts: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0

    def run(self) -> int:
        """Run the batch; return 0 if all was done, 1 if a person was to take over, 2 if there was a fault."""
        try:
            return self._run()
        except BatchError as error:
            for fault in error.faults:
                self.tell(str(fault))
        except CellguardError as error:
            self.tell(f"{error}")
        self.tell("Error in batch file: nothing was written")
        return FAILED

    def tell(self, text: str) -> None:
        """Tell the logbook and the person."""
        self.logbook.write(text)
        self.say(text)

    def _run(self) -> int:
        if not self.path.is_file():
            raise InputError(f"Argus batch file ({self.path}) could not be opened")
        places = Places(self.path.absolute().parent, self.data, self.tell)
        places.read.add(self.path.resolve())
        batch, faults = read_batch(self.path)
        if faults:
            raise BatchError(faults)
        commands, interactive = without_interactive(batch.commands)
        plan = plan_of(commands)
        if plan.logbook:
            self.logbook.move(places.target(plan.logbook))
        self.tell(f"Start of batch procedure; file: {self.path}")
        for command in commands:
            self.logbook.write(f"Command: {command.text.strip()}")
        for file in plan.version_files:
            places.target(file).write_text(f"cellguard version: {_version()}; build: 0\n", encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="cellguard-") as work:
            results = [
                _BlockRun(self, plan, block, number, places, Path(work)).run()
                for number, block in enumerate(plan.blocks, 1)
            ]
            for done in results:
                done.write()
                self.tables += done.tables.values()
            self._keep(Path(work))
        if interactive:
            self.tell("<GOINTERACTIVE>: there is no window here; the batch ends")
        self.tell(f"End of batch procedure; file: {self.path}")
        return INTERACTIVE if interactive else OK

    def _keep(self, work: Path) -> None:
        """Move jobs and proofs to the folder beside the batch, in place of what an earlier run left there."""
        made = sorted(path for path in work.iterdir() if (path / "job.yaml").is_file())
        if not made:
            return
        folder = self.path.with_name(self.path.stem + FOLDER)
        if folder.exists() and not (folder / "job.yaml").is_file() and not any(folder.glob("*/job.yaml")):
            raise InputError(f"{folder} is in the way, and was not made by this program; move it")
        shutil.rmtree(folder, ignore_errors=True)
        if len(made) == 1:
            shutil.move(made[0], folder)
        else:
            folder.mkdir(mode=0o700)
            for path in made:
                shutil.move(path, folder / path.name)
        folder.chmod(0o700)
        self.tell(f"Job, audit, certificate and page: {folder} (confidential)")


class _BlockRun:
    """The run of one part of a batch."""

    def __init__(self, batch: BatchRun, plan: Plan, block: Block, number: int, places: Places, work: Path) -> None:
        self.batch, self.block, self.number, self.places, self.work = batch, block, number, places, work
        self.settings: Settings = plan.settings
        self.tables: dict[int, ArgusTable] = {}
        self.proven: set[int] = set()
        self.files: list[tuple[Path, str]] = []

    def run(self) -> _BlockRun:
        """Read, protect, and make the texts of all files; nothing is written yet."""
        self._read()
        for group in self._groups():
            self._protect(group)
        for write in self.block.writes:
            self._make(write)
        for path, _ in self.files:
            self.places.refuse_read(path)
        return self

    def write(self) -> None:
        """Write all files."""
        for path, text in self.files:
            try:
                path.write_text(text, encoding="utf-8")
            except OSError as error:
                raise InputError(f"cannot write {path}: {error.strerror}") from None
            self.batch.tell(f"{path} has been written")

    def _read(self) -> None:
        if self.block.micro:
            made = tables_of_records(self.block, self.places, self.batch.tell, self.batch.within)
        else:
            made = tables_of_files(self.block, self.places, self.batch.tell)
        for read, asked in zip(made, self.block.tables, strict=True):
            table = read
            for said in asked.apriori:
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
        asked = self._asked(commands, numbers)
        audited = any(self._wants_intervals(number) for number in numbers)
        folder = self.work / f"{self.number}_{'_'.join(map(str, numbers))}"
        folder.mkdir()
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
        seconds = time.process_time() - started
        self.batch.seconds += seconds
        self.batch.tell(f"{done.outcome.verdict.text} ({seconds:.1f} CPU seconds)")

    def _singletons(self, number: int, commands: Sequence[c.Suppress]) -> Options:
        mine = [command for command in commands if command.table in {0, number}]
        return options_of(mine[-1]) if mine else Options()

    def _engines(self, commands: Sequence[c.Suppress]) -> set[str]:
        """Return the classical engines that the batch asks for."""
        return {_CLASSICAL[command.method] for command in commands if command.method in _CLASSICAL} & (
            set(_CLASSICAL.values()) if self.settings.classical else set()
        )

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
        alike = len(engines) == 1 and all(command.method in _CLASSICAL for command in commands)
        return Asked(
            engine=min(engines) if alike else None,
            effort=effort,
            insiders=bool(self.settings.insiders) or any(table.singletons for table in said),
            previous=tuple(self._folder(name) for name in self.settings.previous),
            nonstructural=frozenset(table.number for table in said if table.nonstructural),
        )

    def _folder(self, name: str) -> Path:
        for path in (Path(name), self.places.batch / name):
            if path.is_dir():
                return path / "results" if (path / "results").is_dir() else path
        raise InputError(f"PREVIOUS: there is no folder {name!r}; name the output folder of an earlier run")

    def _limit(self, commands: Sequence[c.Suppress]) -> Run:
        """Return a run that ends when the minutes of OPT are over."""
        run = replace(self.batch.within, listen=self._heard)
        minutes = [command.args[0] for command in commands if command.method == "OPT" and command.args]
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

    def _make(self, write: c.WriteTable | c.Own) -> None:
        if isinstance(write, c.Own):
            self._make_own(write)
            return
        table = self.tables[write.table]
        shows_all = write.kind not in _PUBLIC or (write.kind != 1 and write.options["AS"])
        if not shows_all and write.table not in self.proven:
            self._judge(table)
        target = self.places.target(write.file)
        for ending, text in _texts(table, write, target.stem).items():
            path = (
                target
                if not ending
                else target.with_name(target.name + ending)
                if ending == ".frq"
                else (target.with_suffix(ending) if ending == ".rda" else target.with_name(target.stem + ending))
            )
            self.files.append((path, text))
        secret = " It has the values of suppressed cells, too, and is confidential." if shows_all else ""
        self.batch.tell(f"Table {write.table} is written to {target.name} as {KINDS[write.kind]}.{secret}")

    def _judge(self, table: ArgusTable) -> None:
        """Refuse to publish a table that nobody protected, unless it is safe as it is."""
        if not table.is_in(UNSAFE).any() and not table.rule.uses_status:
            return
        folder = self.work / f"{self.number}_{table.number}"
        folder.mkdir()
        try:
            protect([table], Asked(), folder, within=self.batch.within, fixed=True)
        except CellguardError as error:
            raise InputError(
                f"table {table.number} has not been suppressed, and is not safe as it is ({error}); add <SUPPRESS>, or "
                "write it with AS+ if it stays inside"
            ) from None
        self.proven.add(table.number)

    def _make_own(self, own: c.Own) -> None:
        table = self.tables[int(own.args[0])]
        if own.word == "PRIMARY":
            text = hst_text(table)
        else:
            text = _intervals(table)
        self.files.append((self.places.target(own.args[1]), text))


def _texts(table: ArgusTable, write: c.WriteTable, stem: str) -> Mapping[str, str]:
    """Return the texts of the files of a command, by their endings."""
    options = write.options
    match write.kind:
        case 1:
            return {"": csv_table(table, options)}
        case 2:
            return {"": code_value(table, {**options, "FL": True})}
        case 3:
            return {"": code_value(table, options)}
        case 4:
            return {"": sbs(table, options)}
        case 5:
            return intermediate(table, options, stem)
        case _:
            return jj_file(table, options)


def _intervals(table: ArgusTable) -> str:
    """Return the exact interval of each suppressed cell."""
    if table.realized is None:
        raise InputError(f"AUDIT {table.number}: the table has not been suppressed")
    hidden = (table.unsafe | table.secondary).nonzero()[0]
    rows = []
    for row in hidden.tolist():
        codes = [s.tree.codes[i] for s, i in zip(table.spanning, table.codes[row], strict=True)]
        ends = [f"{end[row]:.12g}" for end in table.realized]
        rows.append([*codes, f"{table.value[row]:.12g}", str(int(table.status[row])), *ends])
    names = [s.name for s in table.spanning]
    return csv_text([*names, table.response, "Status", "Lower", "Upper"], rows)


def _words(command: c.Suppress, settings: Settings, tables: int) -> str:
    """Say which engine runs for a command."""
    name = f"{command.method} for {'all tables' if command.table == 0 else f'table {command.table}'}"
    if command.method == "OPT":
        return f"{name}: the search for the optimum"
    if settings.classical and command.method in {"MOD", "GH"}:
        return f"{name}: the classical method, followed by our audit"
    linked = ", as one linked set" if tables > 1 else ""
    return f"{name}: our proven engine in its place{linked} (<CELLGUARD> METHODS classical runs the original)"


def _version() -> str:
    return version("cellguard")
