"""Records that stay where they are: in a database or on a cluster, of which only answers come here."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from cellguard.errors import InputError
from cellguard.microdata.address import SPARK, address_fault, shown
from cellguard.microdata.engine import Engine, EngineFault
from cellguard.microdata.opened import Opened


def open_remote(source: str, *, query: str | None, remote: str | None, decimal: str | None) -> Opened:
    """Open the records of an address; nothing is read but the names and types of the columns."""
    fault = address_fault(source, remote, query)
    if fault:
        raise InputError(f"{shown(source)}: {fault}")
    if source.startswith(SPARK):
        from cellguard.microdata.engine_spark import connect, origin_of

        return _opened(lambda: connect(remote), origin_of(source), shown(source), decimal)
    from cellguard.microdata.engine_postgres import PostgresEngine

    chosen = f"({str(query).strip().rstrip(';')}) AS chosen"
    return _opened(lambda: PostgresEngine.connect(source), chosen, shown(source), decimal)


def _opened(connect: Callable[[], Engine], origin: str, name: str, decimal: str | None) -> Opened:
    try:
        engine = connect()
        try:
            columns = tuple(engine.columns(origin))
        except EngineFault:
            engine.close()
            raise
    except EngineFault as fault:
        raise InputError(f"{name}: {fault.said or f'cannot be read ({fault.kind})'}") from None
    scan = engine.sql.renamed(columns, origin)
    order = ", ".join(f"c{i}" for i in range(len(columns)))
    numbered = f"(SELECT *, row_number() OVER (ORDER BY {order}) - 1 AS nr FROM {scan}) AS numbered"
    opened = Opened(engine, name, columns, scan, scan, numbered, decimal, origin=origin)
    weakref.finalize(opened, engine.close)
    return opened
