"""A batch from its file to its results: everything is read and checked, then protected, and only then written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from cellguard.argus import commands as c
from cellguard.argus.batch_parser import read_batch, without_interactive
from cellguard.argus.block_run import BlockRun
from cellguard.argus.blocks import Plan, plan_of
from cellguard.argus.faults import BatchError, Fault, placed
from cellguard.argus.logbook import Logbook
from cellguard.argus.outputs import LOGBOOKS, Output, Outputs
from cellguard.argus.own_table import ArgusTable
from cellguard.argus.places import MissingFile, Places
from cellguard.errors import CellguardError, InputError
from cellguard.run_context import Run

OK, INTERACTIVE, FAILED = 0, 1, 2
FOLDER = ".cellguard"  # what the folder of the job and the proof ends with, after the name of the batch


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
    commands: Sequence[c.Command] = ()

    def run(self) -> int:
        """Run the batch; return 0 if all was done, 1 if a person was to take over, 2 if there was a fault."""
        try:
            return self._run()
        except BatchError as error:
            for fault in error.faults:
                self.tell(str(fault))
        except MissingFile as error:
            self.tell(str(self._missing(error)))
        except CellguardError as error:
            self.tell(f"{error}")
        self.tell("Error in batch file: nothing was written")
        return FAILED

    def tell(self, text: str) -> None:
        """Tell the logbook and the person."""
        self.logbook.write(text)
        self.say(text)

    @property
    def folder(self) -> Path:
        """The folder beside the batch that gets the job and the proof."""
        return self.path.with_name(self.path.stem + FOLDER)

    def _run(self) -> int:
        if not self.path.is_file():
            raise InputError(f"Argus batch file ({self.path}) could not be opened")
        places = Places(self.path.absolute().parent, self.data, self.tell)
        places.read.add(self.path.resolve())
        batch, faults = read_batch(self.path)
        if faults:
            raise BatchError(faults)
        self.commands, interactive = without_interactive(batch.commands)
        plan = plan_of(self.commands, batch.name)
        outputs = Outputs(places, self.folder.absolute())
        self._start(plan, batch.name, places, outputs)
        with tempfile.TemporaryDirectory(prefix="cellguard-") as work:
            blocks = [
                BlockRun(self, plan.settings, block, number, outputs, Path(work))
                for number, block in enumerate(plan.blocks, 1)
            ]
            self._refuse_folder(outputs)
            for block in blocks:
                self.tables += block.run().values()
            if len(blocks) > 1:
                self.tell("Not proven: what tables before and after <CLEAR> tell together; put them into one part")
            outputs.check_read()
            self._keep(Path(work))
            outputs.write(self.tell)
        if interactive:
            self.tell("<GOINTERACTIVE>: there is no window here; the batch ends")
        self.tell(f"End of batch procedure; file: {self.path}")
        return INTERACTIVE if interactive else OK

    def _start(self, plan: Plan, name: str, places: Places, outputs: Outputs) -> None:
        """Begin the logbook, and place the files that tell the version."""
        for path in self.logbook.paths:
            outputs.reserve(path.absolute(), "the logbook")
        if plan.logbook:
            with placed(name, plan.logbook.line):
                path = places.target(plan.logbook.file)
                places.refuse_foreign(path, LOGBOOKS)
                self.logbook.also(path)
                outputs.reserve(path, "the logbook")
        self.tell(f"Start of batch procedure; file: {self.path}")
        for command in self.commands:
            self.logbook.write(f"Command: {command.text.strip()}")
        for said in plan.version_files:
            with placed(name, said.line):
                path = outputs.place(said.file, f"line {said.line}")
                outputs.add(
                    Output(path, f"cellguard version: {version('cellguard')}; build: 0\n", False), f"line {said.line}"
                )

    def _missing(self, error: MissingFile) -> Fault | str:
        """Return the fault with the line of the batch that names the file, if one does."""
        for command in self.commands:
            column = command.text.find(error.name) + 1
            if column:
                return Fault(self.path.name, command.line, column, str(error))
        return str(error)

    def _refuse_folder(self, outputs: Outputs) -> None:
        """Refuse a folder for job and proof that something else is in, or a file that the batch writes."""
        folder = self.folder
        made = folder.is_dir() and ((folder / "job.yaml").is_file() or any(folder.glob("*/job.yaml")))
        if folder.is_symlink() or (folder.exists() and not made):
            raise InputError(f"{folder} is in the way, and was not made by this program; move it")
        outputs.reserve(folder.absolute(), "the proof")

    def _keep(self, work: Path) -> None:
        """Move jobs and proofs to the folder beside the batch, in place of what an earlier run left there."""
        made = sorted(path for path in work.iterdir() if (path / "job.yaml").is_file())
        if not made:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        if len(made) == 1:
            shutil.move(made[0], self.folder)
        else:
            self.folder.mkdir(mode=0o700)
            for path in made:
                shutil.move(path, self.folder / path.name)
        self.folder.chmod(0o700)
        self.tell(f"Job, audit, certificate and page: {self.folder} (confidential)")
