"""What left the service is in the register: workers that are killed, workers that share a register, and PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cellguard as cg
from cellguard.register.register import open_register

from record_servers import postgres_server
from source_folders import make_source, make_two_groupings

ASK = textwrap.dedent(
    """
    import itertools, json, sys
    import cellguard as cg
    source = cg.source(sys.argv[1])
    random = __import__("random").Random(int(sys.argv[2]))
    print("ready", flush=True)
    names = ["region", "branch", "size", "legal"]
    codes = {"branch": list("ABCDEF"), "size": ["large", "small"], "legal": ["ltd", "plc", "own"]}
    while True:
        by = random.sample(names, random.choice([1, 2]))
        where = {n: random.choice(c) for n, c in codes.items() if n not in by and random.random() < 0.4}
        answer = source.table(by, value=random.choice(["turnover", "staff"]), where=where)
        print(json.dumps([answer._answer.number, answer._answer.question.digest, bool(answer)]), flush=True)
    """
)


def kill_at_random(home, times, seed):
    """Start one that asks, kill it at a random moment, and return all answers that left, over all times."""
    random, left = np.random.default_rng(seed), set()
    for number in range(times):
        words = [sys.executable, "-c", ASK, str(home), str(seed * 1_000 + number)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert process.stdout.readline() == "ready\n"
        time.sleep(float(random.uniform(0, 0.4)))
        process.send_signal(signal.SIGKILL)
        for line in process.stdout.read().splitlines():
            if line.endswith("]"):  # the last line may be cut
                left.add(tuple(json.loads(line)))
        process.stdout.close()
        process.wait()
    return left


def held(home):
    register = open_register("answers.db", home)
    entries = register.since(0)
    register.close()
    return {(e.number, e.asked, e.kind == "answer") for e in entries}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_left_before_a_kill_is_in_the_register(tmp_path):
    home = make_source(tmp_path)
    left = kill_at_random(home, 3, 1)
    assert left <= held(home) and cg.source(home)


@pytest.mark.endless
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_fifty_kills_lose_no_answer(tmp_path):
    home = make_source(tmp_path)
    left = kill_at_random(home, 50, 2)
    assert len(left) > 20 and left <= held(home)


def test_two_workers_lose_no_answer_and_repeat_it(tmp_path):
    home = make_two_groupings(tmp_path)
    words = [sys.executable, "-m", "cellguard", "serve", str(home), "--open", "--workers", "2"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        address = process.stdout.readline().split()[2]
        asked = [("y", "z1"), ("y", "z2"), ("y", "size"), ("x", "z1"), ("x", "z2")] * 6

        def ask(pair):
            query = f"{address}api/table?value={pair[0]}&by={pair[1]}"
            with urllib.request.urlopen(query, timeout=120) as reply:  # noqa: S310
                return pair, reply.read()

        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(ask, asked))
        by_question = {}
        for pair, body in told:
            plain = json.loads(body)
            by_question.setdefault(pair, set()).add(json.dumps([plain["number"], plain.get("rows")]))
        assert all(len(answers) == 1 for answers in by_question.values()), "one question has one answer"
        numbers = {json.loads(body)["number"] for _, body in told}
        assert numbers == {number for number, _, _ in held(home)}
        both = [json.loads(next(iter(by_question["y", by]))) for by in ("z1", "z2")]
        withheld = [value is None for answer in both for _, value in answer[1] or [("", None)] * 2]  # or no, whole
        assert sum(withheld) >= 2, "z1 and z2 together were looked at"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


def test_a_register_in_postgresql(tmp_path):
    with postgres_server() as server:
        home = make_two_groupings(tmp_path, answers=server.address)
        one, two = cg.source(home), cg.source(home)
        assert one.table(["z1"], value="y")
        assert "x" in two.table(["z2"], value="y").to_arrow()["flag"].to_pylist()
        assert one.table(["z2"], value="y").repeated
        one.close()
        again = cg.source(home)
        assert again.table(["z1"], value="y").repeated
        again.close()
        two.close()
