"""Options of the whole test run, and a browser for those that need one."""

import shutil

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--quick", action="store_true", help="fewer rank counts, for use between two edits"
    )


@pytest.fixture(scope="session")
def ranks(request):
    """The rank counts of a grid in simulation."""
    from collectives.oracle.grids import RANKS

    return (1, 3, 4, 5) if request.config.getoption("--quick") else RANKS


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium, driven by Playwright; skipped where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install playwright"
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip(f"needs a browser, one of {', '.join(names)}: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def pytest_collection_modifyitems(config, items):
    if config.getoption("--quick"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow, and this is a --quick run"))
