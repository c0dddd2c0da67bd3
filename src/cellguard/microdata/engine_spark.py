"""The engine Spark: a cluster through Spark Connect, or a session on this machine. Only answers leave it, as Arrow."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from cellguard.errors import InputError, MissingExtra
from cellguard.microdata.address import PARQUET
from cellguard.microdata.engine import EngineFault
from cellguard.microdata.sql import Sql, StandardSql

_PORT = 15002
_TIMEOUT = 10
_RETRIES = 2
_PART = re.compile(r"[^`.\s]+|`[^`]+`")
_LOST = "the connection to Spark was lost; run again"
# The last is what a server says that is being shut down.
_LOST_WORDS = ("UNAVAILABLE", "RETRIES_EXCEEDED", "INVALID_HANDLE", "Connection refused", "SparkContext")
_NO_JAVA = "Spark needs Java 17 or newer, and there is none: install it (Debian: default-jre-headless)"
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "BIGINT"),
    **dict.fromkeys(("float", "double"), "DOUBLE"),
    "boolean": "BOOLEAN",
    "string": "VARCHAR",
}


class SparkSql(StandardSql):
    """The words of Spark."""

    def quoted(self, text: str) -> str:
        """Return a text as SQL writes it; a backslash means something here."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def name(self, column: str) -> str:
        """Return the name of a column or a table as SQL writes it."""
        return "`" + column.replace("`", "``") + "`"

    def text(self, entry: str) -> str:
        """Return an entry as text, which is compared and ordered byte by byte."""
        return f"CAST({entry} AS STRING)"

    def matches(self, text: str, pattern: str) -> str:
        """Return the condition that some part of a text has the pattern."""
        return f"({text} RLIKE {self.quoted(pattern)})"

    def is_nan(self, number: str) -> str:
        """Return the condition that a number is NaN; not by `=`, which skips parts of Parquet files by their limits."""
        return f"isnan({number})"

    def nearest(self, number: str) -> str:
        """Return a nearest whole number, as a floating-point one."""
        return f"rint({number})"

    def different(self, code: str) -> str:
        """Return the list of the different entries of a column."""
        return f"collect_set({code})"


def origin_of(source: str) -> str:
    """Return what stands behind FROM for a source.

    >>> origin_of("spark:office.firms"), origin_of("spark:parquet:/data/firms")
    ('`office`.`firms`', 'parquet.`/data/firms`')
    """
    sql = SparkSql()
    if source.startswith(PARQUET):
        return f"parquet.{sql.name(source.removeprefix(PARQUET))}"
    table = source.removeprefix("spark:")
    parts = _PART.findall(table)
    if ".".join(parts) != table:
        raise InputError(
            f"{source}: this is no name of a table; write spark:CATALOG.SCHEMA.TABLE or spark:parquet:PATH"
        )
    return ".".join(sql.name(part.strip("`")) for part in parts)


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """A session of Spark, on a cluster if ``remote``; it is not stopped, since others may use it too."""

    session: Any
    remote: bool
    sql: Sql = field(default_factory=SparkSql)

    def close(self) -> None:
        """Leave the session to the process."""

    def columns(self, origin: str) -> Sequence[str]:
        """Return the names of the columns of what stands behind FROM."""
        with _told():
            return list(self.session.sql(f"SELECT * FROM {origin}").columns)

    def kinds(self, scan: str) -> Sequence[str]:
        """Return what the columns hold, in DuckDB's words for types."""
        with _told():
            types = [kind for _, kind in self.session.sql(f"SELECT * FROM {scan}").dtypes]
        return [_KINDS.get(kind, kind.upper()) for kind in types]

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Return a short answer."""
        with _told():
            return [tuple(row) for row in self.session.sql(question).collect()]

    def stream(self, question: str) -> Iterator[pa.RecordBatch]:
        """Return a long answer in batches, in its order."""
        with _told():
            answer = self.session.sql(question)
            if not self.remote:
                yield from answer.toArrow().to_batches()
                return
            # What `toLocalIterator` goes by: `toArrow` would hold the whole answer before the first batch.
            client, plan = self.session.client, answer._plan
            for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
                if isinstance(part, pa.Table):
                    yield from part.to_batches()

    def number(self, codes: Sequence[str], labels: Mapping[int, Sequence[str]]) -> list[str]:
        """Return codes as they are: whoever receives them numbers them."""
        return list(codes)


def connect(remote: str | None) -> SparkEngine:
    """Connect to a cluster, that of ``SPARK_REMOTE`` if none is named, or else start a session on this machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of other libraries
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtra("Spark needs an extra; install it with: pip install 'cellguard[spark]'") from None
        # Its own log quotes records.
        logging.getLogger("SQLQueryContextLogger").disabled = True
        logging.getLogger("DataFrameQueryContextLogger").disabled = True
        address = remote or os.environ.get("SPARK_REMOTE")
        with _told():
            session = _remote(SparkSession, address) if address else _local(SparkSession)
            session.conf.set("spark.sql.ansi.enabled", "true")
            session.conf.set("spark.sql.session.timeZone", "UTC")
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # of a lost server, which the error tells
    return SparkEngine(session, remote=bool(address))


def _remote(sessions: Any, address: str) -> Any:  # noqa: ANN401
    """Connect to a server; whether it is there is tried first, since the library would go on trying for minutes."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or _PORT
    try:
        socket.create_connection((host, port), timeout=_TIMEOUT).close()
    except OSError as error:
        raise EngineFault(
            "no server", f"no Spark Connect server at {host}:{port} ({error.strerror or error})"
        ) from None
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session = sessions.builder.remote(address).getOrCreate()
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    return session


def _local(sessions: Any) -> Any:  # noqa: ANN401
    """Start a session on this machine, which listens to nobody else."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise EngineFault("no Java", _NO_JAVA)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    }
    builder = sessions.builder.master("local[*]").appName("cellguard")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # which quotes records
    return session


@contextmanager
def _told() -> Iterator[None]:
    """Report what goes wrong, without Spark's own words where these may quote records."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise EngineFault(type(error).__name__, _why(error)) from None
    except PySparkException as error:
        kind = error.getCondition() or ""
        if kind.startswith("JAVA_"):
            raise EngineFault(kind, _NO_JAVA) from None
        raise EngineFault(kind, _LOST if _is_lost(error) else f"Spark fails ({kind or 'no reason given'})") from None
    except (Py4JError, OSError) as error:
        raise EngineFault(type(error).__name__, _LOST) from None
    except Exception as error:
        if type(error).__module__.startswith("grpc"):
            raise EngineFault(type(error).__name__, _LOST) from None
        raise


def _is_lost(error: Any) -> bool:  # noqa: ANN401
    """Return whether the server is gone: it says so, or a call failed and the server said nothing of it."""
    if type(error).__name__ == "SparkConnectGrpcException" and not error.getCondition():
        return True
    text = str(error)
    return any(word in text for word in _LOST_WORDS)


def _why(error: Any) -> str:  # noqa: ANN401
    """Return what is wrong with a table, of which no record was read."""
    kind = error.getCondition() or type(error).__name__
    line = str(error).splitlines()[0].removeprefix(f"[{kind}] ")
    return f"Spark refuses it ({kind}): {line}"
