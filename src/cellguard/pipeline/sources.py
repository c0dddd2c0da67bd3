"""`open_source`: the source of a folder, whatever method its job names."""

from __future__ import annotations

from pathlib import Path

from cellguard.answers.answering import AnsweringSource
from cellguard.answers.spec import read_source
from cellguard.errors import JobError, file_name
from cellguard.job.jobfile import Job


def open_source(folder: str | Path) -> AnsweringSource:
    """Open the source of a folder: what protects its tables is the method of its job."""
    spec = read_source(Path(folder))
    method = Job.load(Path(folder) / spec.job).method
    if method == "perturb":
        from cellguard.methods.perturb.answers.source import Source

        return Source(folder)
    if method == "cell_key":
        from cellguard.methods.keys.answers.source import KeyedSource

        return KeyedSource(folder)
    if method == "suppress":
        from cellguard.methods.suppress.answers.source import SuppressingSource

        return SuppressingSource(folder)
    raise JobError(
        f"{file_name(spec.job)}: the tables of a source are perturbed, perturbed by cell keys, or suppressed; say "
        f"protect: {{method: perturb}}, {{method: cell_key}} or {{method: suppress}}, not {method}"
    )
