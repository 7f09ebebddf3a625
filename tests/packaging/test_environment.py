"""environment.yml (the conda road) keeps in step with pyproject.toml (the pip road)."""

import tomllib
from itertools import chain
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
EXTRAS = PROJECT["optional-dependencies"]

# Where conda-forge's name is another than the package index's.
CONDA_NAMES = {
    "cupy-cuda12x": "cupy",
    "cupy-cuda13x": "cupy",
    "matplotlib": "matplotlib-base",
}

# What only the conda road needs.
CONDA_ONLY = {
    "nccl": "the pip road has one package of it for each CUDA; CuPy says which is missing",
    "pip": "installs this package itself",
    "python": "the pip road brings its own; compared with requires-python below",
    "ucx": "part of the wheels of Open MPI; conda's Open MPI leaves it to choice",
}


def versions(requirements, names):
    """Map the name of each package to the versions wanted."""
    parsed = [Requirement(text) for text in requirements]
    return {names.get(wanted.name, wanted.name.lower()): wanted.specifier for wanted in parsed}


def pip(requirements):
    return versions(requirements, CONDA_NAMES)


PIP = pip([*PROJECT["dependencies"], *chain(*EXTRAS.values())])
*PACKAGES, FROM_PIP = ENVIRONMENT["dependencies"]
CONDA = versions([*PACKAGES, *FROM_PIP["pip"][1:]], {})


def test_conda_has_all_that_the_package_and_its_tests_need():
    needed = pip(PROJECT["dependencies"] + EXTRAS["test"])
    assert needed.keys() - CONDA.keys() == set()


def test_conda_has_nothing_that_pip_does_not_know():
    assert CONDA.keys() - PIP.keys() == CONDA_ONLY.keys()


def test_versions_agree():
    common = CONDA.keys() & PIP.keys()
    assert {name: CONDA[name] for name in common} == {name: PIP[name] for name in common}
    assert str(CONDA["python"]) == PROJECT["requires-python"]


def test_every_dependency_has_a_lowest_version():
    assert [name for name, wanted in PIP.items() if ">=" not in str(wanted)] == []


def test_both_gpu_extras_want_the_same_cupy():
    """Else PIP, which has one entry for both, would hide one of them."""
    cuda12, cuda13 = pip(EXTRAS["gpu-cuda12"]), pip(EXTRAS["gpu-cuda13"])
    assert cuda12 == cuda13


def test_conda_comes_from_conda_forge_and_installs_this_package():
    assert ENVIRONMENT["channels"] == ["conda-forge"]
    assert FROM_PIP["pip"][0] == "-e ."


def test_variables_make_mpirun_work_as_typed():
    assert ENVIRONMENT["variables"] == {
        "OMPI_MCA_opal_cuda_support": "true",
        "OMPI_MCA_pml": "ucx",
        "OMPI_MCA_osc": "ucx",
        "OMPI_MCA_opal_common_ucx_tls": "any",
        "UCX_MEMTYPE_CACHE": "n",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def test_extras_promised_by_the_readme_exist():
    promised = {"mpich", "openmpi", "gpu-cuda12", "gpu-cuda13", "torch", "training", "test", "docs"}
    assert promised == EXTRAS.keys()
