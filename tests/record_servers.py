"""Real servers of records for tests, on loopback: PostgreSQL of the distribution, and Spark with a Connect server."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SPARK_SERVER = """
import sys
from pyspark.sql import SparkSession
settings = {"spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": sys.argv[1],
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
builder = SparkSession.builder.master("local[2]")
for key, value in settings.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
print("ready", flush=True)
sys.stdin.read()
session.stop()
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Postgres:
    """A server with one empty database, which `put` fills."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"postgresql://cellguard@127.0.0.1:{port}/postgres"
        self.tables = 0

    def put(self, frame: pa.Table) -> dict[str, str]:
        """Store a frame; return how `records` is told of it."""
        import adbc_driver_postgresql.dbapi as driver

        self.tables += 1
        with driver.connect(self.address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(f"t{self.tables}", frame)
            connection.commit()
        return {"data": self.address, "query": f"select * from t{self.tables}"}

    def ask(self, query: str) -> list[tuple[object, ...]]:
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """Start a server in a folder of its own, and stop it."""
    if importlib.util.find_spec("adbc_driver_postgresql") is None:
        pytest.skip("PostgreSQL is not tested: the extra `postgres` is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    binaries = found[-1].parent if found else shutil.which("initdb") and Path(str(shutil.which("initdb"))).parent
    if not binaries:
        pytest.skip("PostgreSQL is not tested: no server is installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="cellguard-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # as whom the server refuses to run
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    data, port = folder / "data", free_port()
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
    control = [*as_user, binaries / "pg_ctl", "-D", data, "-w"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    initdb = [*as_user, binaries / "initdb", "-D", data, "-A", "trust", "-U", "cellguard", "-E", "UTF8", "--no-sync"]
    subprocess.run([*initdb, "--locale=C.UTF-8"], **quiet)
    subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], **quiet)
    try:
        yield Postgres(port)
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)
        shutil.rmtree(folder)


class Spark:
    """A Spark Connect server, which reads Parquet files of this machine."""

    def __init__(self, port: int, folder: Path) -> None:
        self.remote = f"sc://127.0.0.1:{port}"
        self.folder = folder
        self.tables = 0

    def put(self, frame: pa.Table) -> dict[str, str]:
        """Store a frame; return how `records` is told of it."""
        self.tables += 1
        path = self.folder / f"t{self.tables}.parquet"
        pq.write_table(frame, path)
        return {"data": f"spark:parquet:{path}", "remote": self.remote}

    def ask(self, query: str) -> list[tuple[object, ...]]:
        from cellguard.microdata.engine_spark import connect

        return connect(self.remote).rows(query)


def _leave_spark() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        with suppress(Exception):  # a test may have ended the server
            session.stop()


def need_spark() -> None:
    """Skip a test where there is no Spark or no Java."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("Spark is not tested: the extra `spark` is not installed (make .venv/spark)")
    if not shutil.which("java"):
        pytest.skip("Spark is not tested: there is no Java (Debian: apt-get install default-jre-headless)")


@contextmanager
def spark_server() -> Iterator[Spark]:
    """Start a server in a process of its own, and stop it."""
    need_spark()
    folder, port = Path(tempfile.mkdtemp(prefix="cellguard-spark-")), free_port()
    command = [sys.executable, "-W", "ignore", "-c", SPARK_SERVER, str(port)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, text=True, **streams)
    try:
        assert process.stdout.readline().strip() == "ready"
        yield Spark(port, folder)
    finally:
        _leave_spark()
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()
        time.sleep(0.2)
        shutil.rmtree(folder, ignore_errors=True)
