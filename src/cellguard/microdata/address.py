"""Addresses of records that stay where they are: in a PostgreSQL database or on a Spark cluster.

They are ``postgresql://HOST/DATABASE``, ``spark:CATALOG.TABLE`` and ``spark:parquet:PATH``. An address is written into
jobs, output folders and messages, so it must not hold a password: whoever opens it finds that in the environment of the
process or in the files of the database's own client.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

POSTGRES = ("postgresql://", "postgres://")
SPARK = "spark:"
PARQUET = "spark:parquet:"
_SECRET = ("password", "passfile", "sslpassword", "token", "pwd", "secret")


def is_remote(source: str) -> bool:
    """Return whether a source is an address and not a file.

    >>> [is_remote(source) for source in ("firms.csv", "postgresql://db/firms", "spark:office.firms")]
    [False, True, True]
    """
    return source.startswith((*POSTGRES, SPARK))


def address_fault(source: str, remote: str | None, query: str | None) -> str | None:
    """Return what is wrong with an address, or None; the address itself is not repeated, since it may hold a secret.

    >>> "PGPASSWORD" in address_fault("postgresql://me:hush@db/firms", None, "select 1")
    True
    """
    if "://" in source and not source.startswith(POSTGRES):
        return (
            "a job reads files, databases and Spark; fetch the file first, or give the address to Python's cg.protect"
        )
    if source.startswith(POSTGRES):
        if _holds_secret(source):
            cure = "leave it out and set PGPASSWORD, or use ~/.pgpass or a service file"
            return f"an address must not hold a password, since a job and its output show it; {cure}"
        if remote:
            return "`remote` is the address of a Spark cluster; it goes with a source `spark:TABLE`"
        return None if query else 'a database needs a `query`, for instance query: "select * from firms"'
    if source.startswith(SPARK):
        if remote and not remote.startswith("sc://"):
            return "`remote` must be the address of a Spark Connect server, as sc://host:15002"
        if remote and _holds_secret(remote):
            cure = "set the environment variable SPARK_REMOTE to the whole address, and leave `remote` out"
            return f"`remote` must not hold a token or password, since a job and its output show it; {cure}"
        if query:
            return "a Spark source is a table; make a view of the query there, and name the view"
        path = source.removeprefix(PARQUET) if source.startswith(PARQUET) else None
        if path is not None and not path.startswith("/") and ":/" not in path:
            return "give the whole path, as spark:parquet:/data/firms or spark:parquet:s3://bucket/firms"
        return None if source.removeprefix(SPARK) else "name a table, as spark:office.firms"
    return "`remote` is the address of a Spark cluster; it goes with a source `spark:TABLE`" if remote else None


def _holds_secret(address: str) -> bool:
    """Return whether an address has a password, or a parameter that is one."""
    try:
        parts = urlsplit(address)
        said = parse_qsl(parts.query.replace(";", "&")) + parse_qsl(parts.path.lstrip("/").replace(";", "&"))
        return parts.password is not None or any(any(s in key.lower() for s in _SECRET) for key, _ in said)
    except ValueError:
        return True


def shown(source: str) -> str:
    """Return an address as messages show it: a database by its place, without user and parameters."""
    if source.startswith(SPARK):
        return source
    try:
        parts = urlsplit(source)
        port = f":{parts.port}" if parts.port else ""
        return f"postgresql://{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        return "postgresql://"
