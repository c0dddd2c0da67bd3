"""YAML with line numbers."""

import time

import pytest

from cellguard.errors import JobError
from cellguard.job.yamlfile import read_yaml


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        path = tmp_path / "job.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_yaml(path)

    return write_and_read


def test_every_place_has_its_line(read):
    data, lines = read("version: 1\ntables:\n  - name: a\n    by: [r,\n         s]\n  - name: b\n")
    assert data == {"version": 1, "tables": [{"name": "a", "by": ["r", "s"]}, {"name": "b"}]}
    assert lines[("version",)] == 1
    assert lines[("tables", 0, "by")] == 4
    assert lines[("tables", 0, "by", 1)] == 5
    assert lines[("tables", 1, "name")] == 6


def test_comments_and_a_byte_order_mark_do_no_harm(read):
    assert read(b"\xef\xbb\xbf# a job\nversion: 1 # now\n")[0] == {"version": 1}


def test_an_anchor_may_be_used_again(read):
    assert read("a: &x [1, 2]\nb: *x\n")[0] == {"a": [1, 2], "b": [1, 2]}


def test_a_rule_may_be_an_alias_in_every_table(read):
    tables = "".join(f"  - {{name: t{i}, rules: *r}}\n" for i in range(500))
    data, _ = read("rules: &r [{min_frequency: 3}, {p_percent: 10}]\ntables:\n" + tables)
    assert data["tables"][499]["rules"] == [{"min_frequency": 3}, {"p_percent": 10}]


def test_aliases_inside_aliases_are_refused_in_a_moment(read):
    lines = ["version: 1", "a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    start = time.process_time()
    with pytest.raises(JobError, match=r"job.yaml line 2: aliases \(\*\) repeat more than 20,000 entries"):
        read("\n".join(lines) + "\n")
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: " + "[" * 5_000])
def test_endless_nesting_is_refused(read, text):
    with pytest.raises(JobError, match="nested too deeply"):
        read(text)


def test_a_file_of_data_is_not_read_as_a_job(read):
    with pytest.raises(JobError, match="too large for a job file; is it the data"):
        read(b"region,turnover\n" * 700_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "job.yaml line 3: the key 'a' comes twice"),
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", "job.yaml line 4: the key 'b' comes twice"),
        ("a: {b: 1, b: 2}\n", "job.yaml line 1: the key 'b' comes twice"),
        ("a: 1\n01: 2\n", "job.yaml line 2: the key 1 is not text; put it into quotes"),
        ("a: 1\nno: 2\n", "job.yaml line 2: the key False is not text; put it into quotes"),
        ("? [a, b]\n: 1\n", "job.yaml line 1: the key .* is not text"),
        ("a: 1\nb: {c: 2\nd: 3\n", "job.yaml line 3: not valid YAML"),
        ("a: 1\n  b: 2\n", "job.yaml line 2: not valid YAML"),
        ("a: 1\nb:\n\t- 2\n", "job.yaml line 3: not valid YAML"),
        ("a: 'open\n", "job.yaml line 2: not valid YAML"),
        ("a: 1\nb: *nowhere\n", "job.yaml line 2: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "job.yaml line 2: not valid YAML"),
        ("a: 1\nb: !!python/name:os.system\n", "job.yaml line 2: not valid YAML"),
        ("", "job.yaml: the file is empty"),
        ("# nothing\n", "job.yaml: the file is empty"),
        (b"a: \xff\xfe\n", "cannot read .*job.yaml' as a UTF-8"),
    ],
)
def test_faults_are_told_with_their_line(read, text, said):
    with pytest.raises(JobError, match=said):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: 1\nb: 2020-13-45\n", id="a date that is none"),
        pytest.param("a: 1\nb: '\x07'\n", id="a control character"),
        pytest.param("a: 1\nb: &b {c: *b}\n", id="an anchor inside itself"),
    ],
)
def test_odd_yaml_is_a_fault_of_the_file_and_not_a_crash(read, text):
    with pytest.raises(JobError, match=r"job\.yaml"):
        read(text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(JobError, match=r"no job file .*nowhere\.yaml"):
        read_yaml(tmp_path / "nowhere.yaml")


def test_a_folder_is_no_job_file(tmp_path):
    with pytest.raises(JobError, match=r"is a folder, and a job is a \.yaml file"):
        read_yaml(tmp_path)
