"""Kernel machines on the command line: classifiers and regressors released, planned, evaluated, predicting, refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.cli.charging import unrecorded
from dpfda.mechanisms.table import typed_for
from dpfda.parameters import CLASSIFIER_LOSSES, REGRESSOR_LOSSES
from dpfda.statistics.machines.release import MachineRelease

Run = Callable[..., Any]
USAGE, PRIVACY, DATA = 2, 3, 5
SPENT = ("--epsilon", 1, "--delta", "1e-6")
SMALL = ("--features", 30)
WHERE = ("--points", "x1,x2", "--unit", "person", "--domain", "0,1", *SPENT, *SMALL)
EXTRA: dict[str, tuple[object, ...]] = {
    "classifier": ("--label", "group", "--classes", "out,in"),
    "regressor": ("--response", "y", "--response-bound", 1),
}


def points() -> np.ndarray:
    return np.round(np.random.default_rng(7).random((2000, 2)), 4)


def inside() -> np.ndarray:
    return np.abs(points()[:, 0] - 0.5) < 0.25


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Points of 2000 people: whether they lie in a stripe, and a response."""
    rows = ["person,x1,x2,group,ill,y"]
    for i, ((a, b), within) in enumerate(zip(points(), inside(), strict=True)):
        rows.append(f"p{i},{a},{b},{'in' if within else 'out'},{int(within)},{np.sin(6 * a):.4f}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def release(kind: str, run: Run, file: Path, *more: object) -> Any:
    return run("release", kind, file.name, *EXTRA[kind], *WHERE, *more)


@pytest.fixture
def classifier(run: Run, people: Path, tmp_path: Path) -> MachineRelease:
    assert release("classifier", run, people, "--out", "classifier.json").code == 0
    made: MachineRelease = dpfda.load(tmp_path / "classifier.json")
    return made


@pytest.fixture
def regressor(run: Run, people: Path, tmp_path: Path) -> MachineRelease:
    assert release("regressor", run, people, "--out", "regressor.json").code == 0
    made: MachineRelease = dpfda.load(tmp_path / "regressor.json")
    return made


@pytest.mark.parametrize("kind", EXTRA)
def test_a_release_writes_its_file_and_prints_its_card(kind: str, run: Run, people: Path, tmp_path: Path) -> None:
    done = release(kind, run, people)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / f"people-{kind}.json")
    assert (type(made), made.task) == (MachineRelease, kind)
    assert done.out == f"{made.certificate.text()}\n\nWritten: people-{kind}.json\n{unrecorded('people')}\n"
    assert (made.certificate.unit, made.certificate.n, made.certificate.dataset) == ("person", 2001.0, "people")
    assert made.certificate.private
    shown = run("show", f"people-{kind}.json").out
    assert shown.startswith(made.certificate.text() + "\n\n  The noise before smoothing, ")


@pytest.mark.parametrize("kind", EXTRA)
def test_a_release_can_be_named_drawn_and_printed_as_json(kind: str, run: Run, people: Path, tmp_path: Path) -> None:
    done = release(kind, run, people, "--out", "a.json", "--plot", "a.png", "--dataset", "town", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == dpfda.load(tmp_path / "a.json").certificate.to_dict()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    again = release(kind, run, people, "--out", "a.json")
    assert again.err == "Error: 'a.json' exists. Say --overwrite, or name another file. Nothing was charged.\n"
    assert release(kind, run, people, "--out", "a.json", "--overwrite").code == 0


@pytest.mark.parametrize("kind", EXTRA)
def test_a_dry_run_reads_no_values_and_writes_nothing(
    kind: str, run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    column = CsvSource._text_column

    def read(*arguments: object, **options: object) -> None:
        raise AssertionError("values were read")

    def ids_alone(self: CsvSource, name: str) -> Any:
        assert name == "person"
        return column(self, name)

    monkeypatch.setattr(CsvSource, "batches", read)
    monkeypatch.setattr(CsvSource, "_text_column", ids_alone)
    done = release(kind, run, people, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert f"Plan for a kernel {kind} of 2001 units" in done.out
    assert done.out.endswith("\n  protects    one person, replace-one\n  points      x1, x2\n")
    assert json.loads(release(kind, run, people, "--dry-run", "--json").out)["n"] == 2001
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("kind", EXTRA)
def test_the_number_of_people_can_be_private(kind: str, run: Run, people: Path, tmp_path: Path) -> None:
    done = release(kind, run, people, "--neighbours", "add-or-remove-one", "--planned-n", 2000)
    assert (done.code, done.err) == (0, "")
    assert dpfda.load(tmp_path / f"people-{kind}.json").certificate.neighbours == "add-or-remove-one"


def test_a_classifier_learns_the_classes_of_the_file(run: Run, people: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is small: nine points in ten are classified as they were labelled."""
    assert release("classifier", run, people, "--epsilon", 1000, "--penalty", 0.001).code == 0
    made = dpfda.load(tmp_path / "people-classifier.json")
    assert made.classes == ("out", "in")
    assert ((made.predict(points()) == "in") == inside()).mean() > 0.9


def test_a_regressor_learns_the_responses_of_the_file(run: Run, people: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is small: a tenth of the variance of the responses is left, at most."""
    assert release("regressor", run, people, "--epsilon", 1000, "--penalty", 0.001).code == 0
    made = dpfda.load(tmp_path / "people-regressor.json")
    response = np.sin(6 * points()[:, 0])
    assert np.mean((made.predict(points()) - response) ** 2) < 0.1 * response.var()


def test_labels_can_be_numbers(run: Run, people: Path, tmp_path: Path) -> None:
    asked = ("--label", "ill", "--classes", "0,1", *WHERE, "--epsilon", 1000)
    done = run("release", "classifier", people.name, *asked)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "people-classifier.json")
    assert made.classes == (0, 1)
    assert ((made.predict(points()) == 1) == inside()).mean() > 0.8


@pytest.mark.parametrize(
    ("label", "classes", "found"),
    [
        ("group", "out,in", ("out", "in")),
        ("ill", "0,1", (0, 1)),
        ("word", "0,1", (0, 1)),
        ("coded", "out,in", None),
        ("truth", "False,True", ("False", "True")),
        ("truth", "0,1", (0, 1)),
    ],
    ids=["texts", "whole numbers", "numbers as texts", "categories", "words of truth", "truth as numbers"],
)
def test_labels_in_parquet_are_read_whatever_their_type(
    label: str, classes: str, found: tuple[object, object] | None, run: Run, people: Path, tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    table = arrow_csv.read_csv(people)
    table = table.append_column("word", table["ill"].cast(pa.string()))
    table = table.append_column("coded", table["group"].dictionary_encode())
    table = table.append_column("truth", table["ill"].cast(pa.bool_()))
    pq.write_table(table, tmp_path / "people.parquet")
    asked = ("--label", label, "--classes", classes, *WHERE, "--epsilon", 1000)
    done = run("release", "classifier", "people.parquet", *asked)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "people-classifier.json")
    assert made.classes == (found or ("out", "in"))
    assert ((made.predict(points()) == made.classes[1]) == inside()).mean() > 0.8


@pytest.mark.parametrize("classes", ["yes,no", "0,1"])
def test_one_word_in_a_column_of_numbers_does_not_decide_between_an_error_and_a_release(
    classes: str, run: Run, people: Path, tmp_path: Path
) -> None:
    """A column of numbers with one word in it is a column of texts, and no schema that anybody declared."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    table = arrow_csv.read_csv(people)
    place = table.schema.get_field_index("ill")
    words = pa.array([*map(str, table["ill"].to_pylist()[:-1]), "yes"])
    cards = []
    for column in (table["ill"], words):
        pq.write_table(table.set_column(place, "ill", column), tmp_path / "people.parquet")
        asked = ("--label", "ill", "--classes", classes, *WHERE, "--json", "--overwrite")
        done = run("release", "classifier", "people.parquet", *asked)
        assert (done.code, done.err) == (0, "")
        cards.append(json.loads(done.out))
    assert cards[0] == cards[1]


def test_a_declared_type_that_holds_no_labels_is_refused(run: Run, people: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    table = arrow_csv.read_csv(people)
    dates = pa.array(range(len(table)), pa.timestamp("s"))
    pq.write_table(table.append_column("when", dates), tmp_path / "people.parquet")
    done = run("release", "classifier", "people.parquet", "--label", "when", "--classes", "0,1", *WHERE)
    text = "Column 'when' holds timestamp[ms], and labels are numbers or texts. Convert the column first."
    assert (done.code, done.out, done.err) == (DATA, "", f"Error: {text}\n")


@pytest.mark.parametrize("words", [("False", "True"), ("0", "1"), ("0.0", "1,0")], ids=str)
def test_labels_in_csv_are_read_as_they_are_from_an_array(
    words: tuple[str, str], run: Run, people: Path, tmp_path: Path
) -> None:
    rows = [line.split(",") for line in people.read_text().splitlines()]
    lines = [";".join(rows[0])] + [";".join([*row[:4], words[int(row[4])], row[5]]) for row in rows[1:]]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    done = run("release", "classifier", "people.csv", "--label", "ill", "--classes", "0,1", *WHERE, "--epsilon", 1000)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "people-classifier.json")
    assert ((made.predict(points()) == 1) == inside()).mean() > 0.8


@pytest.mark.parametrize("loss", CLASSIFIER_LOSSES)
def test_every_loss_of_a_classifier_can_be_asked_for(loss: str, run: Run, people: Path, tmp_path: Path) -> None:
    assert release("classifier", run, people, "--loss", loss).code == 0
    assert dpfda.load(tmp_path / "people-classifier.json").loss == loss


@pytest.mark.parametrize("loss", REGRESSOR_LOSSES)
def test_every_loss_of_a_regressor_can_be_asked_for(loss: str, run: Run, people: Path, tmp_path: Path) -> None:
    threshold = ("--threshold", 0.3) if loss == "huber" else ()
    assert release("regressor", run, people, "--loss", loss, *threshold).code == 0
    assert dpfda.load(tmp_path / "people-regressor.json").loss == loss


@pytest.mark.parametrize("mechanism", typed_for("machine"))
def test_every_mechanism_can_be_asked_for(mechanism: str, run: Run, people: Path) -> None:
    done = release(
        "classifier", run, people, "--mechanism", mechanism, "--kernel", "gaussian,0.3", "--force", "--dry-run"
    )
    assert (done.code, done.err) == (0, "")
    assert mechanism == "auto" or f"  mechanism   {mechanism}, " in done.out


HELP = " Try 'dpfda release classifier --help'."
COLUMNS = "Columns are: person, x1, x2, group, ill, y."
GOOD: dict[str, object] = {
    "--points": "x1,x2",
    "--unit": "person",
    "--label": "group",
    "--classes": "out,in",
    "--domain": "0,1",
    "--epsilon": 1,
    "--delta": "1e-6",
}
CLASSES = (
    "--classes takes two different labels separated by a comma, e.g. --classes healthy,ill; got {!r}. They may not be "
    "read from the data."
)
# Options that are changed (None: left out), exit code, and the whole message.
MISTAKES: dict[str, tuple[dict[str, object], int, str]] = {
    "nobody protected": ({"--unit": None}, USAGE, "Missing option '--unit'." + HELP),
    "no label": ({"--label": None}, USAGE, "Missing option '--label'." + HELP),
    "no classes": ({"--classes": None}, USAGE, "Missing option '--classes'." + HELP),
    "one class": ({"--classes": "in"}, USAGE, CLASSES.format("in")),
    "three classes": ({"--classes": "a,b,c"}, USAGE, CLASSES.format("a,b,c")),
    "the same class twice": ({"--classes": "in,in"}, USAGE, CLASSES.format("in,in")),
    "a class without a name": ({"--classes": "in,"}, USAGE, CLASSES.format("in,")),
    "no domain": (
        {"--domain": None},
        USAGE,
        "A kernel machine needs a domain known in advance: one interval for every coordinate, e.g. --domain 0,1, or "
        "one for each, e.g. --domain '0,1;18,90'. It may not be read from the data.",
    ),
    "a label that is not there": ({"--label": "class"}, DATA, f"No column 'class' for the label. {COLUMNS}"),
    "the label as a coordinate": (
        {"--points": "x1,group"},
        USAGE,
        "Column 'group' cannot be a coordinate and the label at once.",
    ),
    "the label as the unit": (
        {"--unit": "group"},
        USAGE,
        "Column 'group' cannot be the privacy unit and the label at once.",
    ),
    "sides that do not fit": (
        {"--domain": "0,1;0,1;0,1"},
        USAGE,
        "--points names 2 columns (x1, x2) and the domain has 3 sides: one for each. Nothing was charged.",
    ),
    "an unknown loss": (
        {"--loss": "squared"},
        USAGE,
        "Invalid value for '--loss': 'squared' is not one of 'hinge', 'smoothed-hinge', 'logistic'." + HELP,
    ),
    "an unknown kernel": (
        {"--kernel": "linear,1"},
        USAGE,
        "--kernel takes a name and a range, e.g. --kernel matern-3/2,0.1; got 'linear,1'. Names are exponential, "
        "gaussian, matern-3/2, matern-5/2.",
    ),
    "a penalty of nothing": (
        {"--penalty": 0},
        USAGE,
        "--penalty must be None or a number of at least 1e-100, got 0.0.",
    ),
    "eta without its mechanism": (
        {"--eta": 2},
        USAGE,
        "--eta is for --mechanism iclp-qr; 'auto' does not use it. Leave it out.",
    ),
    "noise that cannot be pure": (
        {"--mechanism": "gaussian", "--delta": 0},
        PRIVACY,
        "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale: it needs delta > 0. For delta = 0 use "
        "--mechanism k-norm or laplace.",
    ),
    "a guess that is missing": (
        {"--neighbours": "add-or-remove-one"},
        USAGE,
        "Under add-or-remove-one the number of units is private and may not be read. State a public guess, e.g. "
        "--planned-n 5000.",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_one_line_and_leaves_nothing(mistake: str, run: Run, people: Path, tmp_path: Path) -> None:
    changed, code, message = MISTAKES[mistake]
    asked = [part for pair in (GOOD | changed).items() if pair[1] is not None for part in pair]
    done = run("release", "classifier", people.name, *asked)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            ("--response-bound", 0),
            USAGE,
            "--response-bound must be a positive finite number, between 1e-100 and 1e100, got 0.0. It may not be read "
            "from the data.",
        ),
        (
            ("--loss", "absolute", "--threshold", 1),
            USAGE,
            "--threshold is for loss 'huber'; 'absolute' does not use it.",
        ),
        (("--response", "height"), DATA, f"No column 'height' for the response. {COLUMNS}"),
    ],
    ids=["a bound of nothing", "a threshold without huber", "a response that is not there"],
)
def test_a_mistake_about_responses_gives_one_line(
    more: tuple[object, ...], code: int, message: str, run: Run, people: Path
) -> None:
    done = release("regressor", run, people, *more)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")


@pytest.mark.parametrize("kind", EXTRA)
def test_noise_that_hides_everything_must_be_asked_for(kind: str, run: Run, people: Path) -> None:
    asked = ("--epsilon", 0.001, "--delta", 0, "--penalty", 0.001)
    done = release(kind, run, people, *asked)
    what = "margin" if kind == "classifier" else "bound on responses"
    assert (done.code, done.out) == (USAGE, "")
    assert re.fullmatch(
        rf"Error: With n = 2001 and epsilon 0\.001 the noise in the function would be \d+% of the {what}\. "
        r"(About|Neither) .* would do\. Say --force to release it all the same\. Nothing was charged\.\n",
        done.err,
    )
    assert release(kind, run, people, *asked, "--force").code == 0


def test_a_picture_of_three_coordinates_is_refused_before_the_charge(run: Run, people: Path) -> None:
    asked = ("--points", "x1,x2,ill", *EXTRA["classifier"], "--unit", "person", "--domain", "0,1", *SPENT)
    done = run("release", "classifier", people.name, *asked, "--plot", "a.png")
    text = "--plot draws machines of one or two coordinates, and there are 3. Leave it out. Nothing was charged."
    assert (done.code, done.err) == (USAGE, f"Error: {text}\n")


@pytest.mark.parametrize("kind", EXTRA)
def test_a_file_without_rows_has_no_machine(kind: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("person,x1,x2,group,y\n")
    text = "No row has an identifier: whose curves or points they are is unknown. Nothing was charged."
    for more in ((), ("--force",)):
        done = release(kind, run, file, *more)
        assert (done.code, done.out, done.err) == (DATA, "", f"Error: {text}\n")


ROWS: dict[str, str] = {
    "a word": "p7,hello,0.5,in,1,0.5",
    "another label": "p7,0.5,0.5,elsewhere,7,0.5",
    "no label": "p7,0.5,0.5,,,",
    "a short row": "p7",
    "a long row": "p7,0.5,0.5,in,1,0.5,9,9",
    "no identifier": ",0.5,0.5,in,1,0.5",
    "infinity": "p7,inf,-inf,in,1,inf",
    "the largest number": "p7,1e308,-1e308,in,1,1e308",
    "a secret looking like code": "p7,{0.__class__}%s,0.5,%s,1,{y}",
}


def shape(text: str) -> str:
    """The text with every number replaced."""
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "#", text)


@pytest.mark.parametrize("kind", EXTRA)
@pytest.mark.parametrize("mistake", ROWS)
def test_a_mistake_in_a_row_cannot_be_told_from_outside(mistake: str, kind: str, run: Run, people: Path) -> None:
    clean = release(kind, run, people, "--overwrite")
    lines = people.read_text().splitlines()
    lines[8] = ROWS[mistake]
    people.write_text("\n".join(lines) + "\n")
    other = release(kind, run, people, "--overwrite")
    assert clean.code == other.code == 0
    assert clean.err == other.err == ""
    assert shape(clean.out) == shape(other.out)


@pytest.mark.parametrize(
    ("kind", "what", "broken"),
    [("classifier", "labels", "_text_column"), ("regressor", "responses", "batches")],
    ids=["labels", "responses"],
)
def test_a_column_that_cannot_be_read_says_nothing_about_it(
    kind: str, what: str, broken: str, run: Run, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    column = CsvSource._text_column

    def fail(self: CsvSource, *arguments: Any) -> Any:
        if arguments[-1] == "person":
            return column(self, *arguments)  # whose rows they are can be read
        raise ZeroDivisionError("p7 is in")

    monkeypatch.setattr(CsvSource, broken, fail)
    done = release(kind, run, people)
    text = f"The column of {what} could not be read. Check that the file can be read. Nothing was charged."
    assert (done.code, done.out, done.err) == (DATA, "", f"Error: {text}\n")


def test_evaluate_says_value_noise_and_class(run: Run, classifier: MachineRelease) -> None:
    done = run("evaluate", "classifier.json", "--at", "0.5:0.5,0.1:0.9", "--json")
    assert (done.code, done.err) == (0, "")
    at = [[0.5, 0.5], [0.1, 0.9]]
    assert json.loads(done.out) == {
        "x1": [0.5, 0.1],
        "x2": [0.5, 0.9],
        "value": classifier(at).tolist(),
        "noise": classifier.noise_deviation(at).tolist(),
        "class": classifier.predict(at).tolist(),
    }
    table = run("evaluate", "classifier.json", "--at", "0.5:0.5")
    assert table.out.splitlines()[0] == "x1\tx2\tvalue\tnoise\tclass"
    assert table.out.splitlines()[1].split("\t")[-1] in ("in", "out")


def test_evaluate_gives_probabilities_where_they_have_meaning(run: Run, people: Path, tmp_path: Path) -> None:
    assert release("classifier", run, people, "--loss", "logistic", "--out", "l.json").code == 0
    found = json.loads(run("evaluate", "l.json", "--at", "0.5:0.5", "--json").out)
    assert found["probability"] == dpfda.load(tmp_path / "l.json").probabilities([[0.5, 0.5]])[:, 1].tolist()


def test_evaluate_predicts_within_the_bound(run: Run, regressor: MachineRelease) -> None:
    found = json.loads(run("evaluate", "regressor.json", "--at", "0.2:0.5", "--json").out)
    assert found["prediction"] == regressor.predict([[0.2, 0.5]]).tolist()
    assert list(found) == ["x1", "x2", "value", "noise", "prediction"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("--at", "0.5:0.5", "--level", 0.9),
            "A kernel machine has neither a noise band nor derivatives here: leave --level and --derivative out. The "
            "column noise is the standard deviation of the noise at each point.",
        ),
        (("--at", "0.5:0.5", "--cdf"), "--cdf and --quantiles are for a density: leave them out."),
        (
            ("--at", "2:2"),
            "Points must lie in the domain [0, 1], got points from 2 to 2. Leave these points out, or state a wider "
            "domain from the start.",
        ),
    ],
    ids=["a level", "a distribution", "outside"],
)
@pytest.mark.usefixtures("classifier")
def test_a_mistake_in_evaluate_gives_one_line(more: tuple[object, ...], message: str, run: Run) -> None:
    done = run("evaluate", "classifier.json", *more)
    assert (done.code, done.out, done.err) == (USAGE, "", f"Error: {message}\n")


def test_predict_writes_a_row_for_each_point_in_their_order(
    run: Run, classifier: MachineRelease, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("x2,x1,name\n0.5,0.5,a\n0.9,0.1,b\n5,,c\n")
    done = run("predict", "classifier.json", "new.csv", "--points", "x1,x2")
    assert (done.code, done.out, done.err) == (0, "Written: new-predicted.csv (3 rows)\n", "")
    head, *rows = [line.split(",") for line in (tmp_path / "new-predicted.csv").read_text().splitlines()]
    assert head == ["x1", "x2", "value", "noise", "class"]
    at = [[0.5, 0.5], [0.1, 0.9], [0.5, 1.0]]  # what is missing lies in the middle, what is beyond at the edge
    assert [row[4] for row in rows] == classifier.predict(at).tolist()
    np.testing.assert_allclose([float(row[2]) for row in rows], classifier(at), rtol=1e-9)


def test_predict_takes_and_writes_parquet(run: Run, regressor: MachineRelease, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"value": [0.5, 0.1], "x2": [0.5, 0.9]}), tmp_path / "new.parquet")
    done = run("predict", "regressor.json", "new.parquet", "--out", "said.parquet", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {"written": ["said.parquet"], "rows": 2}
    table = pq.read_table(tmp_path / "said.parquet")
    assert table.column_names == ["value", "x2", "value_", "noise", "prediction"]
    exact = regressor.predict([[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(table["prediction"].to_pylist(), exact)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("classifier.json",), USAGE, "Missing argument 'TABLE'. Try 'dpfda predict --help'."),
        (("classifier.json", "none.csv"), DATA, "No file 'none.csv'. Check the path."),
        (
            ("classifier.json", "people.csv", "--points", "x1"),
            USAGE,
            "The release takes points of 2 coordinates, and there is 1 column (x1). Name them with --points.",
        ),
        (
            ("classifier.json", "people.csv", "--points", "x*", "--out", "people.csv"),
            USAGE,
            "What is read and what is written must be different files. Name another with --out.",
        ),
        (
            ("classifier.json", "people.csv", "--points", "x*", "--out", "a.txt"),
            USAGE,
            "--out writes .csv or .parquet, got 'a.txt'.",
        ),
        (("classifier.json", "empty.csv"), USAGE, "There are no points in 'empty.csv'."),
    ],
    ids=["no table", "no file", "too few columns", "over the data", "another kind", "no rows"],
)
@pytest.mark.usefixtures("classifier")
def test_a_mistake_in_predict_gives_one_line(
    arguments: tuple[str, ...], code: int, message: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "empty.csv").write_text("x1,x2\n")
    done = run("predict", *arguments)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")


def test_only_machines_predict(run: Run, csv: Path) -> None:
    asked = ("--unit", "ID", "--values", "t*", "--bound", 1, *SPENT, "--out", "mean.json")
    assert run("release", "mean", csv, *asked).code == 0
    done = run("predict", "mean.json", "scans.csv")
    text = "A classifier or a regressor predicts, and 'mean.json' holds a mean function. Use dpfda evaluate."
    assert (done.code, done.err) == (USAGE, f"Error: {text}\n")


PLANNED: dict[str, tuple[object, ...]] = {
    "classifier": ("--dimension", 2),
    "regressor": ("--dimension", 2, "--response-bound", 1),
}


@pytest.mark.parametrize("kind", PLANNED)
def test_a_plan_says_what_would_be_done_and_ranks_the_noise(kind: str, run: Run) -> None:
    asked = ("--n", 5000, *PLANNED[kind], "--domain", "0,1", *SPENT, *SMALL)
    done = run("plan", kind, *asked)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        f"Plan for a kernel {kind} of 5000 units at (epsilon = 1, delta = 1e-06); no values read"
    )
    assert "Noise in the function at a penalty of " in done.out
    data = json.loads(run("plan", kind, *asked, "--json").out)
    assert {row["mechanism"] for row in data["table"]} == set(typed_for("machine")) - {"auto"}
    assert [row["note"] for row in data["table"] if row["mechanism"] == data["mechanism"]] == ["chosen"]


def test_the_names_in_options_are_those_of_the_libraries() -> None:
    from dpfda.statistics.machines.losses import CLASSIFIERS, REGRESSORS

    assert set(CLASSIFIER_LOSSES) == set(CLASSIFIERS)
    assert set(REGRESSOR_LOSSES) == set(REGRESSORS)
