"""Records that are neither a file nor a frame yet: globs, folders of Parquet files, addresses, lazy frames, data sets.

What lies elsewhere is fetched whole, read, and removed. ``http`` and ``https`` need
nothing more; other addresses (``s3://``, ``gs://``, ``abfs://``, ...) need fsspec and its package for them.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from glob import glob, has_magic
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

import pyarrow as pa

from cellguard.errors import InputError
from cellguard.microdata.address import is_remote
from cellguard.microdata.sources import Opened, open_records
from cellguard.reading.files import parquet_names
from cellguard.scratch import scratch_in, sweep

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.I)
_TIME_LIMIT = 60  # seconds without an answer
_PARQUET = (".parquet", ".pq")


def resolved(data: object) -> object:
    """Return records as `protect` reads them: a path, a frame, or an Arrow data set that is read as it is needed."""
    if not isinstance(data, (str, Path)):
        return _collected(data) if _is_lazy(data) else data
    text = str(data)
    if is_remote(text):
        return data
    if isinstance(data, str) and _ADDRESS.match(text):
        return _fetched_frame(text)
    if Path(text).is_dir():
        return _of_files(_parquet_files(Path(text)), text, Path(text))
    return _of_glob(text) if has_magic(text) and not Path(text).exists() else data


def _is_lazy(data: object) -> bool:
    return type(data).__module__.startswith("polars") and type(data).__name__ == "LazyFrame"


def _collected(data: Any) -> object:  # noqa: ANN401
    try:
        return data.collect()
    except Exception as error:  # what a plan of polars raises may quote the data
        raise InputError(
            f"the LazyFrame cannot be collected ({type(error).__name__}); call .collect() on it to see why"
        ) from None


def _of_glob(pattern: str) -> object:
    files = [Path(name) for name in sorted(glob(pattern, recursive=True)) if Path(name).is_file()]  # noqa: PTH207
    if not files:
        raise InputError(f"no file matches {pattern!r}; check the folder and the ending")
    return _of_files(files, pattern, None)


def _parquet_files(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _PARQUET and path.is_file())
    if not found:
        raise InputError(
            f"{folder.name}: a folder without Parquet files; name a file in it, or several as '{folder.name}/*.csv'"
        )
    return found


def _of_files(files: list[Path], name: str, folder: Path | None) -> object:
    """Return several files as one: Parquet files as a data set, texts and others as a frame of texts."""
    kinds = {path.suffix.lower() in _PARQUET for path in files}
    if len(kinds) > 1:
        raise InputError(f"{name!r} matches Parquet files and others; name files of one kind")
    if kinds == {True}:
        import pyarrow.dataset as arrow_dataset  # loads pandas

        _same_columns([(path, parquet_names(path)) for path in files])
        try:
            parts = None if folder is None else arrow_dataset.partitioning(flavor="hive")
            made = arrow_dataset.dataset([str(path) for path in files], format="parquet", partitioning=parts)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
            raise InputError(f"{name!r}: Parquet files that do not go together ({type(error).__name__})") from None
        return made
    if len(files) == 1:
        return files[0]
    opened = [open_records(path) for path in files]
    _same_columns([(path, one.columns) for path, one in zip(files, opened, strict=True)])
    tables = [_read(one) for one in opened]
    return pa.concat_tables([table.select(tables[0].column_names) for table in tables], promote_options="permissive")


def _read(opened: Opened) -> pa.Table:
    """Return all records of a file, after a look for broken lines that names the first."""
    opened.rows(f"SELECT count(*) FROM (SELECT * FROM {opened.noting})")  # noqa: S608
    opened.refuse_broken_lines()
    return opened.to_arrow()


def _same_columns(files: list[tuple[Path, Any]]) -> None:
    first, names = files[0]
    for path, other in files[1:]:
        apart = sorted(set(names) ^ set(other))
        if apart:
            raise InputError(
                f"{path.name} and {first.name} have different columns: only one has {apart[0]!r}; name files of the "
                "same columns"
            )


def _fetched_frame(address: str) -> pa.Table:
    """Return what lies at an address as columns; no copy of it stays on the disk."""
    sweep(Path(tempfile.gettempdir()))
    with scratch_in(Path(tempfile.gettempdir())) as scratch:
        return _read(open_records(_fetched(address, scratch.path)))


def _fetched(address: str, folder: Path) -> Path:
    """Fetch what lies at an address into a folder, under the last part of its name."""
    parts = urlsplit(address)
    name = unquote(Path(parts.path).name)
    if not name or "/" in name or "\\" in name or name.startswith("."):
        raise InputError(f"{_told(address)}: names no file; give the whole address, with the file's name at its end")
    target = folder / name
    try:
        if parts.scheme.lower() in ("http", "https"):
            with urlopen(address, timeout=_TIME_LIMIT) as source, target.open("wb") as sink:  # noqa: S310
                shutil.copyfileobj(source, sink)
        else:
            with _fsspec(parts.scheme).open(address, "rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
    except InputError:
        raise
    except HTTPError as error:
        error.close()
        raise InputError(f"{_told(address)}: cannot be fetched ({error.code}); open the address in a browser") from None
    except URLError as error:
        raise InputError(
            f"{_told(address)}: cannot be fetched ({type(error.reason).__name__}); open the address in a browser"
        ) from None
    except Exception as error:  # of fsspec's many packages; their words may hold keys
        raise InputError(
            f"{_told(address)}: cannot be fetched ({type(error).__name__}); check the address and your rights to it"
        ) from None
    return target


def _told(address: str) -> str:
    """Return an address without what may be secret in it: user, password and query."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _fsspec(scheme: str) -> Any:  # noqa: ANN401
    try:
        import fsspec
    except ImportError:
        raise InputError(f"addresses of {scheme}:// need fsspec; get it with: pip install fsspec") from None
    try:
        return fsspec.filesystem(scheme)
    except ImportError as error:
        named = re.search(r"[Ii]nstall (\w+)", str(error))
        cure = f"pip install {named.group(1)}" if named else f"the package of fsspec for {scheme}"
        raise InputError(f"addresses of {scheme}:// need one more package: {cure}") from None
    except ValueError:
        raise InputError(f"nothing reads addresses of {scheme}://; try https:// or s3://") from None
