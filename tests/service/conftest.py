"""A folder of releases, one of each kind, and the service over it without a network."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import dpfda
from dpfda.bases import cosine, tensor
from dpfda.mechanisms.noise import Noise
from dpfda.releases import Release, smooth
from dpfda.service import make_app

TOKEN = "a-token-of-the-owner-2026"


class Client:
    """The service in this process, its event loop in a thread; whatever goes wrong in it has to be an answer."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        # Exceptions that leave the application are raised here, so that none can hide behind a status.
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=60)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.wait(self.http.request(method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def head(self, path: str, **options: Any) -> httpx.Response:
        return self.request("HEAD", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, **options)

    def stop(self) -> None:
        self.wait(self.http.aclose())
        self.app.endpoints.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of releases, one of each kind, with noise as it is drawn for real."""
    folder = tmp_path_factory.mktemp("kinds")
    t, rng = np.linspace(0, 1, 20), np.random.default_rng(0)
    curves = np.sin(np.pi * t) * (0.5 + 0.1 * rng.normal(size=(800, 1)))
    stated: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "bound": 1.0, "domain": (0.0, 1.0)}
    mean = dpfda.MeanFunction(**stated).fit(curves, grid=t).release_
    mean.save(folder / "mean.json")
    dpfda.CovarianceFunction(**stated, force=True).fit(curves, grid=t).release_.save(folder / "covariance.json")
    dpfda.FPCA(n_components=2, **stated, force=True).fit(curves, grid=t).release_.save(folder / "components.json")
    model = dpfda.FunctionOnScalarRegression(covariate_bound=1.0, **stated, force=True)
    model.fit(rng.uniform(-1, 1, (800, 2)), curves, grid=t).release_.save(folder / "regression.json")
    people = dpfda.DensityFunction(epsilon=2.0, delta=1e-6, domain=(0.0, 100.0), force=True).fit(
        rng.normal(40, 12, 800)
    )
    people.release_.save(folder / "density.json")
    surface(mean.certificate).save(folder / "surface.json")
    return folder


def surface(card: Any) -> Release:
    """A function on a box, which no command makes yet."""
    from dataclasses import replace

    basis = tensor(cosine((0.0, 1.0), 3), cosine((0.0, 4.0), 3))
    noise, noisy = Noise("gaussian", (9,), (0.1,)), np.linspace(1, 0.1, 9)
    return Release(
        basis=basis,
        noisy=noisy,
        centre=np.zeros(9),
        noise=noise,
        count=None,
        smoothing=smooth("none", noisy, noise.variances, basis.frequencies),
        certificate=replace(card, domain=basis.domain.sides, size=9, basis=basis.family),
    )


@pytest.fixture
def folder(kinds: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(kinds, tmp_path / "releases"))


@pytest.fixture
def service() -> Iterator[Callable[..., Client]]:
    """The service without a network: `service(folder=...)`."""
    opened: list[Client] = []

    def make(*arguments: Any, **options: Any) -> Client:
        opened.append(Client(make_app(*arguments, **options)))
        return opened[-1]

    yield make
    for client in opened:
        client.stop()


@pytest.fixture
def client(service: Callable[..., Client], folder: Path) -> Client:
    """The service over the folder, with an owner."""
    return service(folder=folder, token=TOKEN)


@pytest.fixture
def owner() -> dict[str, str]:
    """The header that proves who owns the service."""
    return {"Authorization": f"Bearer {TOKEN}"}
