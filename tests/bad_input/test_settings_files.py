"""Settings files that cannot be carried out: one line on standard error, and exit code 2."""

from __future__ import annotations

import pytest

KEYS = {"data": '"people.csv"', "graph": '"a -> x -> z; x <-> z"', "protected": '"a"', "outcome": '"y"'}


def head(**changes: str | None) -> str:
    """The four keys that every file has, some of them changed or left out."""
    keys = {**KEYS, **changes}
    return "\n".join(f"{key} = {value}" for key, value in keys.items() if value is not None)


HEAD = head()

CASES = [
    (
        "empty",
        "",
        "audit.toml has no 'data': it needs data, graph, protected, outcome",
    ),
    (
        "not TOML",
        "data = \n",
        "audit.toml is not valid TOML: Invalid value (at line 1, column 8)",
    ),
    (
        "a key twice",
        HEAD + '\ndata = "other.csv"',
        "audit.toml is not valid TOML: Cannot overwrite a value (at end of document)",
    ),
    (
        "unclosed text",
        'data = "people.csv\n',
        "audit.toml is not valid TOML: Illegal character '\\n' (at line 1, column 19)",
    ),
    (
        "too deep",
        "a = " + 2000 * "[",
        "cannot read 'audit.toml': lists or tables stand too deep in one another",
    ),
    (
        "binary",
        "data = \x00",
        "audit.toml is not valid TOML: Invalid value (at line 1, column 8)",
    ),
    (
        "no data",
        head(data=None),
        "audit.toml has no 'data': it needs data, graph, protected, outcome",
    ),
    (
        "no graph",
        head(graph=None),
        "audit.toml has no 'graph': it needs data, graph, protected, outcome",
    ),
    (
        "no protected",
        head(protected=None),
        "audit.toml has no 'protected': it needs data, graph, protected, outcome",
    ),
    (
        "no outcome",
        head(outcome=None),
        "audit.toml has no 'outcome': it needs data, graph, protected, outcome",
    ),
    (
        "an empty graph",
        head(graph='""'),
        "'graph' is empty in audit.toml: fill it in",
    ),
    (
        "an empty outcome",
        head(outcome='""'),
        "'outcome' is empty in audit.toml: fill it in",
    ),
    (
        "an empty protected",
        head(protected='""'),
        "'protected' is empty in audit.toml: fill it in",
    ),
    (
        "data that is a number",
        head(data="3"),
        "'data' is 3: give text or a list or a table",
    ),
    (
        "data that is true",
        head(data="true"),
        "'data' is True: give text or a list or a table",
    ),
    (
        "no such file",
        head(data='"nobody.csv"'),
        "there is no data file 'nobody.csv'",
    ),
    (
        "a folder as data",
        head(data='"."'),
        "'.' cannot be read as Parquet",
    ),
    (
        "data in a list of one",
        head(data='["people.csv"]'),
        "'data' lists 1 file(s): give two or more completed tables, or one without a list",
    ),
    (
        "data listed twice",
        head(data='["people.csv","people.csv"]'),
        "'data' lists 'people.csv' twice: give each completed table once",
    ),
    (
        "data listed as numbers",
        head(data="[1, 2]"),
        "'data' lists 1: give names of files",
    ),
    (
        "a table of data without a file",
        head(data='{delimiter = ";"}'),
        "'data' has no 'file': name the file, such as file = \"people.csv\"",
    ),
    (
        "an unknown suffix",
        head(data='"people.xlsx"'),
        "cannot read 'people.xlsx': give a .csv or .parquet file",
    ),
    (
        "an unknown way to read",
        head(data='{file = "people.csv", delimeter = ";"}'),
        "unknown key 'data.delimeter'; did you mean 'delimiter'?",
    ),
    (
        "a delimiter of two letters",
        head(data='{file = "people.csv", delimiter = ";;"}'),
        "delimiter is ';;': give one character, such as ';' or '\\t' for a tab",
    ),
    (
        "a graph as a list",
        head(graph='["a -> x"]'),
        "'graph' is ['a -> x']: give text",
    ),
    (
        "a graph with a cycle",
        head(graph='"a -> x -> z -> x"'),
        "the graph has a cycle: x -> z -> x; remove one of these edges",
    ),
    (
        "a stranger in the graph",
        head(graph='"a -> x -> zz"'),
        "the graph names 'zz', which is not a column of the data; did you mean 'z'?",
    ),
    (
        "an unreadable graph",
        head(graph='"a => x"'),
        "cannot read 'a => x': write '->', '<-', '<->' or '=fair=>', or put the name in quotes",
    ),
    (
        "protected as a number",
        head(protected="3"),
        "'protected' is 3: give text or a list",
    ),
    (
        "a stranger protected",
        head(protected='"b"'),
        "the protected attribute 'b' is not in the graph",
    ),
    (
        "outcome as a list",
        head(outcome='["y"]'),
        "'outcome' is ['y']: give text",
    ),
    (
        "an unknown key",
        HEAD + '\noutcom = "y"',
        "unknown key 'outcom'; did you mean 'outcome'?",
    ),
    (
        "an unknown table",
        HEAD + "\n[option]\npenalty = 1",
        "unknown key 'option'; did you mean 'options'?",
    ),
    (
        "an unknown option",
        HEAD + "\n[options]\npenality = 1",
        "unknown key 'options.penality'; did you mean 'penalty'?",
    ),
    (
        "a penalty as text",
        HEAD + '\n[options]\npenalty = "1"',
        "'options.penalty' is '1': give a number",
    ),
    (
        "a negative penalty",
        HEAD + "\n[options]\npenalty = -1",
        "penalty is -1: give a finite number that is not negative",
    ),
    (
        "a penalty of nan",
        HEAD + "\n[options]\npenalty = nan",
        "'options.penalty' is nan: give a finite number",
    ),
    (
        "a penalty of inf",
        HEAD + "\n[options]\npenalty = inf",
        "'options.penalty' is inf: give a finite number",
    ),
    (
        "a degree of 0",
        HEAD + "\n[options]\ndegrees = {x = 0}",
        "degrees['x'] is 0: give a whole number of at least 1",
    ),
    (
        "a degree of a stranger",
        HEAD + "\n[options]\ndegrees = {q = 1}",
        "degrees names 'q', which is not a feature",
    ),
    (
        "degrees as a number",
        HEAD + "\n[options]\ndegrees = 2",
        "'options.degrees' is 2: give a table",
    ),
    (
        "a date",
        HEAD + "\n[options]\npenalty = 2020-01-01",
        "'options.penalty' is datetime.date(2020, 1, 1): give a number",
    ),
    (
        "folds as a word",
        HEAD + '\n[options]\ncv = "shuffled"',
        (
            "'options.cv' is 'shuffled': give a number of folds, or 'contiguous' or ['contiguous', 10] for "
            "folds in the order of the rows"
        ),
    ),
    (
        "one fold",
        HEAD + "\n[options]\ncv = 1",
        (
            "cv is 1: give a number of folds from 2 to the number of rows, 80, or ('contiguous', 5) for folds "
            "in the order of the rows, or pairs of training and test rows"
        ),
    ),
    (
        "cv of a list",
        HEAD + "\n[options]\ncv = [1, 2]",
        (
            "'options.cv' is [1, 2]: give a number of folds, or 'contiguous' or ['contiguous', 10] for folds "
            "in the order of the rows"
        ),
    ),
    (
        "an unknown kind",
        HEAD + '\n[options]\nkinds = {x = "logarithm"}',
        (
            "kinds says 'logarithm' for 'x': give 'number', 'log', 'log1p', 'sqrt', 'rank' or 'share', also "
            "with ' by group' behind or, but for 'share', with 'zero or ' before; 'ordered', 'ordered as "
            "levels' or 'category'; or a list of its levels, lowest first"
        ),
    ),
    (
        "a kind of a stranger",
        HEAD + '\n[options]\nkinds = {q = "log"}',
        "kinds names 'q', which is neither a feature of the graph nor the protected attribute",
    ),
    (
        "a kind of the outcome",
        HEAD + '\n[columns.y]\nkind = "log"',
        "'columns.y' gives the outcome a kind: leave it out, 'options.outcome_type' says what an outcome is",
    ),
    (
        "a kind twice",
        HEAD + '\n[options]\nkinds = {x = "rank"}\n[columns.x]\nkind = "rank"',
        "the kind of 'x' is given twice, by 'options.kinds' and 'columns.x': once will do",
    ),
    (
        "a column that is none",
        HEAD + '\n[columns.q]\nkind = "rank"',
        "[columns] describes 'q', which is not a column of the data",
    ),
    (
        "an unknown word of a column",
        HEAD + '\n[columns.x]\nkinds = "rank"',
        "unknown key 'columns.x.kinds'; did you mean 'kind'?",
    ),
    (
        "an empty recode",
        HEAD + "\n[columns.x]\nrecode = {}",
        "'columns.x.recode' is empty: give the new value of each value, or leave it out",
    ),
    (
        "a recode to a list",
        HEAD + '\n[columns.x]\nrecode = {"1" = [1]}',
        "'columns.x.recode' makes [1] of '1': give text or a number",
    ),
    (
        "a recode to both",
        HEAD + '\n[columns.x]\nrecode = {"1" = "a", "2" = 3}',
        "'columns.x.recode' makes text of some values and numbers of others: give one of them",
    ),
    (
        "a recode that names too few",
        HEAD + '\n[columns.a]\nrecode = {"1" = "man"}',
        (
            "column 'a' is '-1' in 35 rows (first in row 0), which its recode does not name: add \"-1\" = \"...\" "
            "to recode under [columns.a]"
        ),
    ),
    (
        "levels of which recode makes none",
        HEAD + '\n[columns.a]\nrecode = {"1" = "man", "-1" = "woman"}\nlevels = ["men", "women"]',
        ("'columns.a.levels' lists 'men', which recode makes of no value: levels are named as they are after recoding"),
    ),
    (
        "weights among the options",
        HEAD + '\n[options]\nsample_weight = "w"',
        (
            "unknown key 'options.sample_weight'; known: reference, shift, contrast, kinds, missing, cluster, "
            "holdout, mixed, ordered_residuals, degrees, penalty, predictor_degree, predictor_penalty, "
            "max_degree, max_memory, penalties, cv, penalise_constant, outcome_type, predictor, measure, "
            "robust, random_state"
        ),
    ),
    (
        "weights of no column",
        HEAD + '\nsample_weight = "w"',
        "sample_weight names 'w', which is not a column of the data",
    ),
    (
        "clusters of no column",
        HEAD + '\n[options]\ncluster = "school"',
        "options.cluster names 'school', which is not a column of the data",
    ),
    (
        "a predictor that is none",
        HEAD + '\n[options.predictor]\nmodel = "ridge"',
        (
            "'options.predictor' is 'ridge': give a file (.joblib, .pkl, .pickle) or 'module:name', such as "
            "'scores:model' for model in scores.py"
        ),
    ),
    (
        "a predictor in no file",
        HEAD + '\n[options.predictor]\nmodel = "model.joblib"\ntrust_pickle = true',
        "'options.predictor': there is no file 'model.joblib'",
    ),
    (
        "a pickle that nobody trusts",
        HEAD + '\n[options.predictor]\nmodel = "model.joblib"',
        (
            "'options.predictor' is 'model.joblib', and opening such a file runs whatever code it holds: if "
            "you trust who wrote it, add --trust-pickle, or trust_pickle = true under [options.predictor]"
        ),
    ),
    (
        "a module that is none",
        HEAD + '\n[options.predictor]\nmodel = "nowhere:model"',
        "'options.predictor': cannot import 'nowhere' (ModuleNotFoundError: No module named 'nowhere')",
    ),
    (
        "an unknown input",
        HEAD + '\n[options.predictor]\nmodel = "math:sqrt"\ninput = "columns"',
        "the predictor's input is 'columns': give 'residuals', 'features' or a function of a data frame",
    ),
    (
        "a module without it",
        HEAD + '\n[options.predictor]\nmodel = "math:squareroot"',
        "'options.predictor': the module 'math' has no 'squareroot'",
    ),
    (
        "robust without weight",
        HEAD + "\n[options]\nrobust = {p_max = 0.3}",
        "'options.robust' lacks 'weight': give both, such as {p_max = 0.3, weight = 10}",
    ),
    (
        "a report up to 1",
        HEAD + "\n[report]\np_max = 1",
        "'report.p_max' is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "a report up to text",
        HEAD + '\n[report]\np_max = "0.3"',
        "'report.p_max' is '0.3': give a number",
    ),
    (
        "an unknown budget",
        HEAD + '\n[report]\nbudget = "box"',
        ("budget is 'box': give 'pairwise', 'spectral' or 'single cause', or a value such as Pairwise(bounds=...)"),
    ),
    (
        "a floor of the spectral budget",
        HEAD + '\n[report.budget]\nkind = "spectral"\nmin_eigenvalue = 0.1',
        "'report.budget.min_eigenvalue' is for the pairwise budget: the spectral one has its own floor",
    ),
    (
        "bounds of a word",
        HEAD + "\n[report.budget]\nbounds = {x = [0, 0.3]}",
        "'report.budget.bounds' names 'x': give two names joined by '<->', such as 'ugpa <-> lsat'",
    ),
    (
        "bounds upside down",
        HEAD + '\n[report.budget]\nbounds = {"x <-> z" = [0.3, 0]}',
        "the bounds of x <-> z are [0.3, 0]: give -1 <= lower <= upper <= 1",
    ),
    (
        "bounds of a stranger",
        HEAD + '\n[report.budget]\nbounds = {"x <-> q" = [0, 0.3]}',
        (
            "the graph does not name the pair x <-> q (its pairs: x <-> z): add '<->' between the two to the "
            "graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "caps of the pairwise budget",
        HEAD + "\n[report.budget]\ncaps = {a = 0.3}",
        "'report.budget.caps' does not apply to the pairwise budget: leave it out",
    ),
    (
        "sizes up to 1",
        HEAD + "\n[report]\nsizes = [0, 1]",
        "'report.sizes' is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "sizes as a number",
        HEAD + "\n[report]\nsizes = 0.3",
        "'report.sizes' is 0.3: give a list",
    ),
    (
        "an empty list of sizes",
        HEAD + "\n[report]\nsizes = []",
        "'report.sizes' is empty: give at least one number, or leave it out",
    ),
    (
        "no starts",
        HEAD + "\n[report.search]\nstarts = 0",
        "starts is 0: give a whole number of at least 1",
    ),
    (
        "an unknown question",
        HEAD + "\n[report]\npmax = 0.3",
        "unknown key 'report.pmax'; did you mean 'p_max'?",
    ),
    (
        "a smallest group of 0",
        HEAD + "\n[report]\nsmallest_group = 0",
        "'report.smallest_group' is 0: give a whole number of at least 1",
    ),
    (
        "people perhaps",
        HEAD + '\n[report]\npeople = "yes"',
        "'report.people' is 'yes': give true or false",
    ),
    (
        "a profile of one",
        HEAD + '\n[profile]\npairs = [["x"]]',
        "'profile.pairs' has ['x']: give lists of two names, such as ['ugpa', 'lsat']",
    ),
    (
        "a profile of a stranger",
        HEAD + '\n[profile]\npairs = [["x", "q"]]',
        (
            "the graph does not name the pair x <-> q (its pairs: x <-> z): add '<->' between the two to the "
            "graph, or give one of its pairs as a tuple of two names"
        ),
    ),
    (
        "a profile of one point",
        HEAD + "\n[profile]\npoints = 1",
        ("'profile' asks for 1 points from -0.99 to 0.99: give at least 2 points with -1 < lowest < highest < 1"),
    ),
    (
        "a profile beyond 1",
        HEAD + "\n[profile]\nlowest = -2",
        "'profile' asks for 201 points from -2 to 0.99: give at least 2 points with -1 < lowest < highest < 1",
    ),
    (
        "a profile upside down",
        HEAD + "\n[profile]\nlowest = 0.5\nhighest = -0.5",
        ("'profile' asks for 201 points from 0.5 to -0.5: give at least 2 points with -1 < lowest < highest < 1"),
    ),
    (
        "results over the data",
        HEAD + '\noutput = "people.csv"',
        "the results would overwrite the data, 'people.csv': give another file",
    ),
    (
        "results over the settings",
        HEAD + '\noutput = "audit.toml"',
        "the results would overwrite the settings, 'audit.toml': give another file",
    ),
    (
        "results in no folder",
        HEAD + '\noutput = "nowhere/results.json"',
        "cannot write the results to 'nowhere/results.json': there is no folder 'nowhere'",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_settings_are_refused_in_one_line(text, sentence, command):
    (command.folder / "audit.toml").write_text(text, encoding="utf-8")
    (command.folder / "people.xlsx").write_bytes(b"PK")
    command.refuses(["run" if "output" in text else "check", "audit.toml"], sentence)
