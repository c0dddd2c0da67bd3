"""The grammar of batches: what is read, and every fault with its line and column."""

import pytest

from cellguard.argus import commands as c
from cellguard.argus.batch_parser import parse_batch

HEAD = (
    '<OPENMICRODATA> "a.asc"\n<OPENMETADATA> "a.rda"\n<SPECIFYTABLE> "a""b"|"x"\n<SAFETYRULE> P(10)\n<READMICRODATA>\n'
)


def parsed(text):
    batch, faults = parse_batch(text)
    assert faults == []
    return batch.commands


def test_all_commands_are_read():
    text = (
        '// a comment\n\\\\ another\n<SILENT>\n<LOGBOOK> "log.txt"\n<VERSIONINFO> v.txt\n<SOLVER> CPLEX,"lic.lic"\n'
        + HEAD
        + '<APRIORI> "f.hst", 1, ";", 0, 1\n<RECODE> 1, a, "g.grc"\n<RECODE> 1, b, 2\n<SUPPRESS> MOD(1, 5, 1, 0)\n'
        '<WRITETABLE> (1, 3, AS+FL-, "o.csv")\n<CELLGUARD> METHODS classical\n<CLEAR>\n<GOINTERACTIVE>\n'
    )
    found = parsed(text)
    kinds = [type(one).__name__ for one in found]
    assert kinds.count("Recode") == 2 and kinds.count("Plain") == 5 and kinds.count("Own") == 1
    apriori = next(one for one in found if isinstance(one, c.Apriori))
    assert (apriori.separator, apriori.ignore, apriori.expand) == (";", False, True)
    write = next(one for one in found if isinstance(one, c.WriteTable))
    assert write.options["AS"] and not write.options["FL"] and write.options["QU"]


@pytest.mark.parametrize(
    ("said", "cost", "power"),
    [("", "", 1.0), ("||", "", 1.0), ('|"s"|"k",0.5', "k", 0.5), ('||"k"|0', "k", 0.0), ("||-1", "-1", 1.0)],
)
def test_costs_and_lambda_come_after_a_comma_or_a_bar(said, cost, power):
    spec = next(one for one in parsed(HEAD.replace('|"x"', f'|"x"{said}')) if isinstance(one, c.SpecifyTable))
    assert (spec.by, spec.response, spec.cost, spec.power) == (("a", "b"), "x", cost, power)


def test_rules_of_respondents_and_holdings():
    text = HEAD.replace(
        "P(10)", "NK(1,80)|NK(0,0)|NK(2,90)|P(20,5)|P(15,50,2)|FREQ(3,30)|FREQ(2,10)|ZERO(5.5)|WGT(1)|MIS(1)|MAN(7)|"
    )
    rule = next(one for one in parsed(text) if isinstance(one, c.Rules)).rule
    assert [d.k for d in rule.respondents.dominants] == [80] and [d.n for d in rule.holdings.dominants] == [2]
    assert [(p.p, p.q, p.n) for p in rule.respondents.percents] == [(20, 100, 5), (15, 50, 2)]
    assert (rule.respondents.frequent.n, rule.holdings.frequent.n) == (3, 2)
    assert (rule.zero, rule.weighted, rule.missing_is_safe, rule.manual) == (5.5, True, True, 7)


@pytest.mark.parametrize(("said", "fewest", "percent"), [("REQ(70,85,10)", 0, 10), ("REQ(70,85,3,10)", 3, 10)])
def test_requests_have_three_or_four_arguments(said, fewest, percent):
    asked = next(
        one for one in parsed(HEAD.replace("P(10)", said)) if isinstance(one, c.Rules)
    ).rule.respondents.requested
    assert (asked.first, asked.second, asked.fewest, asked.percent) == (70, 85, fewest, percent)


@pytest.mark.parametrize(
    ("kind", "option", "on"),
    [(3, "1", {"AS"}), (3, "3", {"AS", "SE"}), (4, "1", {"HL"}), (5, "1", set()), (5, "0", {"SO"})],
)
def test_options_may_be_the_numbers_of_earlier_versions(kind, option, on):
    write = parsed(HEAD + f'<WRITETABLE> (1,{kind},{option},"o")\n')[-1]
    assert {name for name, said in write.options.items() if said} - {"QU"} == on


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("<FOO> 1", "line 6, column 1: unknown command <FOO>"),
        ("hello", "line 6, column 1: a line begins with a command"),
        ("<SUPPRESS> MODD(1)", "line 6, column 12: unknown method 'MODD'; did you mean 'MOD'"),
        ("<SUPPRESS> RND(0,5)", "RND does not protect linked tables; say it for each table"),
        ("<SUPPRESS> RND(1,5,0,10,0,2,1,9)", "RND takes 7 arguments at most, and this has 8"),
        ("<SUPPRESS> CTA(1,2)", "CTA takes 1 arguments at most"),
        ('<SUPPRESS> CKM(1) "a.csv"|"b.csv"|0.5', "perturbation tables of sums are not read from a batch"),
        ("<SUPPRESS> OPT(0,5)", "line 6, column 12: OPT does not protect linked tables; use MOD(0,...)"),
        ("<SUPPRESS> OPT(2,5)", "line 6, column 1: there is no table 2; 1 are specified"),
        ("<SUPPRESS> OPT(1,5", "')' is expected at the end of OPT, but the line ends there"),
        ("<SUPPRESS> GH(1,2,3,4,5)", "GH takes 4 arguments at most, and this has 5"),
        ('<WRITETABLE> (1,8,AS+,"o")', "column 17: the format must be 1 or 2 or 3"),
        ('<WRITETABLE> (1,2,XX+,"o")', "column 19: unknown option 'XX+'"),
        ('<WRITETABLE> (1,2,AS+,"o"', "')' is expected at the end"),
        ('<APRIORI> "a.hst",1,"::"', "the separator is one character"),
        ("<RECODE> 1, a", "',' is expected after the variable"),
        ("<READMICRODATA>", "there is nothing to read here"),
        ("<READTABLE> 3", "cannot be told '3'"),
        ("<COVER>", "<COVER> is not done by this program"),
        ("<JJ> x", "<JJ> is not done by this program"),
        ("<SILENT>", "<SILENT> is the first command"),
        ("<SOLVER> GUROBI", "unknown solver 'GUROBI'"),
        ("<CELLGUARD> METHOD classical", "unknown extension 'METHOD'; did you mean 'METHODS'"),
        ("<CELLGUARD> EFFORT much", "EFFORT cannot be 'much'; write EFFORT quick | normal | best"),
        ("<CELLGUARD> AUDIT 7, x.csv", "there is no table 7"),
        ("<CLEAR> now", "nothing more is expected after <CLEAR>"),
        ('<OPENMETADATA> "a.rda', "a quotation mark opens here and is not closed"),
    ],
)
def test_faults_have_line_column_and_cure(line, words):
    _, faults = parse_batch(HEAD + line + "\n")
    assert words in "\n".join(map(str, faults))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Q(10)", "column 14: unknown rule 'Q'"),
        ("P()", "column 16: an argument of P must be a number"),
        ("P(1,2,3,4)", "P has 4 arguments; write P(p), P(p,n) or P(p,q,n)"),
        ("NK(2)", "NK has 1 arguments"),
        ("FREQ(3,10)FREQ(3,10)", "'|' is expected between two rules"),
        ("WGT(2)", "WGT takes 0 or 1"),
        ("ZERO(1)|ZERO(2)", "ZERO comes more than 1 times"),
        ("REQ(1,2)", "REQ has 2 arguments"),
        ("P(-5)", "P has an argument below 0"),
    ],
)
def test_faults_of_rules(rule, words):
    _, faults = parse_batch(HEAD.replace("P(10)", rule))
    assert words in "\n".join(map(str, faults))


def test_counts_have_no_rules_about_contributions():
    _, faults = parse_batch(HEAD.replace('"x"', "<freq>"))
    assert "P looks at contributions, and the table counts records" in str(faults[0])


def test_all_faults_are_reported_at_once():
    _, faults = parse_batch("<FOO>\n<BAR>\n<SUPPRESS> X(1)\n")
    assert [(fault.line, fault.column) for fault in faults] == [(1, 1), (2, 1), (3, 12)]
