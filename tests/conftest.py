"""Options of the whole test run."""

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--quick", action="store_true", help="fewer rank counts, for use between two edits"
    )


@pytest.fixture(scope="session")
def ranks(request):
    """The rank counts of a grid in simulation."""
    from collectives.oracle.cases import RANKS

    return (1, 3, 4, 5) if request.config.getoption("--quick") else RANKS


def pytest_collection_modifyitems(config, items):
    if config.getoption("--quick"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow, and this is a --quick run"))
