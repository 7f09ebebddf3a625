"""Players opened in a headless Chromium, which remembers what went wrong and what was asked for."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from collectives import find
from collectives.draw.player import write
from collectives.recorder import record
from collectives.sim import Hockney

NETWORK = Hockney(alpha=1e-6, beta=1e-9, gamma=2e-10)
RUNS = [
    ("allreduce", "ring", 5, {}),
    ("allreduce", "segmented_ring", 4, {"elements": 100, "segment": 10}),
    ("allreduce", "double_binary_tree", 5, {}),
    ("alltoall", "bruck", 6, {}),
    ("bcast", "binomial", 8, {"root": 3}),
    ("exscan", "recursive_doubling", 5, {}),
    ("barrier", "dissemination", 3, {}),
    ("allgather", "ring", 1, {}),
    ("allreduce", "recursive_doubling", 20, {}),  # as bars
]
NAMES = [f"{collective}-{name}-{p}" for collective, name, p, _ in RUNS]


@dataclass
class Opened:
    """A player that is open in the browser."""

    page: Any
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def ask(self, script: str) -> Any:
        return self.page.evaluate(script)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def wait_until(self, script: str) -> None:
        """Wait until something is true; the policy of the page forbids Playwright's own way."""
        for _ in range(500):
            if self.ask(script):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"not true within 10 s: {script}")

    @property
    def position(self) -> str:
        return self.page.inner_text("#position")

    @property
    def info(self) -> str:
        return self.page.inner_text(".info")

    def shapes(self, layer: str) -> int:
        """Count the shapes of a kind in the grid."""
        path = self.page.get_attribute(f".grid svg > path.{layer}", "d") or ""
        return path.count("M")

    def overflows(self) -> bool:
        return self.ask("document.documentElement.scrollWidth > innerWidth")


@pytest.fixture
def play(chromium, tmp_path):
    """Open the player of some recordings: ``play(*recordings, at="#step=5", width=360, ...)``."""
    contexts = []

    def play(*recordings, at="", width=1200, height=900, **context):
        file = tmp_path / f"player{len(contexts)}.html"
        write(file, *recordings)
        contexts.append(
            chromium.new_context(viewport={"width": width, "height": height}, **context)
        )
        page = contexts[-1].new_page()
        opened = Opened(page, file.as_uri())
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto(file.as_uri() + at)
        return opened

    yield play
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def recorded():
    """Record a registered algorithm in simulation: ``recorded("allreduce", "ring", 8)``."""

    def recorded(collective, name, p, **call):
        return record(find(collective, name), p, network=NETWORK, **call)

    return recorded


@pytest.fixture(params=RUNS, ids=NAMES)
def any_run(request, recorded):
    collective, name, p, call = request.param
    return recorded(collective, name, p, **call)


@pytest.fixture(scope="session")
def ring(recorded):
    return recorded("allreduce", "ring", 8, elements=1000, caption="Rank r owns block r.")


@pytest.fixture(scope="session")
def deadlock():
    def everyone_sends(comm, sendbuf, recvbuf, op):
        comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
        comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)

    return record(everyone_sends, 4, collective="allreduce", network=NETWORK)
