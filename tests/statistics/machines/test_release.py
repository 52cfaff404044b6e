"""Releases of kernel machines: values, files, pictures, and what is refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from dpfda.errors import DataError, MissingExtra, UsageError
from dpfda.kernels import Gaussian
from dpfda.mechanisms import SeededRandomness
from dpfda.releases import load
from dpfda.releases.documents import with_digest
from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor
from dpfda.statistics.machines.release import check_classes, into

mpl.use("Agg")
GOOD = {"epsilon": 1.0, "delta": 1e-6, "randomness": SeededRandomness(1)}
SQUARE = [(-1.0, 1.0), (0.0, 2.0)]


def classifier(domain=SQUARE, **wishes):
    sides = len(domain) if isinstance(domain, list) else 1
    x = np.random.default_rng(0).uniform(-1, 2, (400, sides))
    est = KernelClassifier(**GOOD, domain=domain, **{"classes": ("no", "yes"), "features": 12, **wishes}, force=True)
    return est.fit(x, np.where(x[:, 0] > 0.2, "yes", "no")).release_


def regressor(domain=SQUARE):
    sides = len(domain) if isinstance(domain, list) else 1
    x = np.random.default_rng(0).uniform(-1, 2, (400, sides))
    return KernelRegressor(**GOOD, response_bound=3.0, domain=domain, features=12, force=True).fit(x, x[:, 0]).release_


MADE = {
    "landmarks": classifier(),
    "eigenfunctions": classifier(mechanism="k-norm"),
    "waves": classifier([(-1.0, 1.0)] * 5),
    "Laplace process": classifier(mechanism="iclp-qr", kernel=Gaussian(0.5)),
    "logistic": classifier(loss="logistic"),
    "regressor": regressor(),
}


@pytest.mark.parametrize("release", MADE.values(), ids=MADE.keys())
def test_files_give_the_same_machine_bit_for_bit(release, tmp_path):
    back = load(release.save(tmp_path / "machine.json"))
    where = release.points(2)
    assert back(where).tobytes() == release(where).tobytes()
    assert (back.predict(where) == release.predict(where)).all()
    assert back.certificate == release.certificate
    assert (back.task, back.loss, back.penalty, back.classes, back.bound) == (
        release.task,
        release.loss,
        release.penalty,
        release.classes,
        release.bound,
    )
    assert repr(back) == repr(release)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("noisy", [1.0]),
        ("task", "oracle"),
        ("classes", None),
        ("classes", ["a", "a"]),
        ("bound", 1.0),
        ("penalty", "1"),
        ("noise", {"law": "gaussian", "sizes": [3], "scales": [1.0]}),
    ],
)
def test_damaged_files_are_refused(field, value, tmp_path):
    path = MADE["landmarks"].save(tmp_path / "machine.json")
    data = json.loads(path.read_text())
    del data["digest"]
    path.write_text(with_digest(json.dumps(data | {field: value})))
    with pytest.raises(DataError, match="is damaged"):
        load(path)


def test_signs_decide_and_points_are_moved_into_the_domain():
    release = MADE["landmarks"]
    where = release.points(5)
    np.testing.assert_array_equal(release.predict(where), np.where(release(where) > 0, "yes", "no"))
    assert release.predict([[50.0, 1.0]]) == release.predict([[1.0, 1.0]])
    with pytest.raises(UsageError, match="Points must lie in the domain"):
        release([[50.0, 1.0]])
    moved = into(release.basis.domain, [[np.nan, -np.inf], [-7.0, 9.0], [0.25, 0.5]])
    assert moved.tolist() == [[0.0, 1.0], [-1.0, 2.0], [0.25, 0.5]]


def test_noise_deviation_is_that_of_weights_times_features():
    release = MADE["landmarks"]
    where = release.points(3)
    draws = np.random.default_rng(0).normal(size=(20_000, 12)) * np.sqrt(release.noise.variances)
    spread = (draws @ release.basis.matrix(where).T).std(axis=0)
    np.testing.assert_allclose(release.noise_deviation(where), spread, rtol=0.05)


def test_frames_hold_points_values_noise_and_predictions():
    frame = MADE["landmarks"].to_frame()
    assert list(frame.columns) == ["x1", "x2", "value", "noise", "prediction"]
    assert len(frame) == 41**2
    assert regressor((0.0, 1.0)).to_frame([0.1, 0.2]).columns[0] == "x"


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="needs pandas"):
        MADE["landmarks"].to_frame()


def test_chances_are_those_of_the_logistic_loss():
    release = MADE["logistic"]
    where = release.points(4)
    np.testing.assert_allclose(release.probabilities(where)[:, 1], 1 / (1 + np.exp(-release(where))))
    with pytest.raises(UsageError, match="loss 'hinge' are no probabilities"):
        MADE["landmarks"].probabilities(where)


def test_pictures_show_regions_surfaces_and_lines():
    from matplotlib import pyplot

    regions = MADE["landmarks"].plot()
    assert {text.get_text() for text in regions.get_legend().get_texts()} >= {"no", "yes"}
    assert "NOT PRIVATE" in regions.get_title()
    surface = MADE["regressor"].plot()
    assert surface.get_xlabel() == "x1"
    line = classifier((-1.0, 1.0)).plot()
    assert "above zero: yes" in line.get_ylabel()
    assert regressor((-1.0, 1.0)).plot(line) is line
    with pytest.raises(UsageError, match="this machine lives in 5 dimensions"):
        MADE["waves"].plot()
    pyplot.close("all")


def test_the_card_says_what_bounds_a_record_and_why():
    text = MADE["landmarks"].certificate.text()
    for said in ("moved into the domain", "M reach / (penalty n)", "proven to stop", "labels are one of two classes"):
        assert said in " ".join(text.split())
    assert "responses within 3" in " ".join(MADE["regressor"].certificate.text().split())


def test_machines_that_make_no_sense_are_refused():
    release = MADE["landmarks"]
    with pytest.raises(ValueError, match="a classifier with its classes"):
        replace(release, classes=None)
    with pytest.raises(ValueError, match="A regressor has a bound on responses, and a classifier has none"):
        replace(release, bound=1.0)
    assert check_classes(np.array([0, 1])) == (0, 1)
    assert all(type(label) is int for label in check_classes(np.array([0, 1])))
