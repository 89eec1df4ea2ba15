"""The stubs say what there is, and what is said is true; the examples of the docs run."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import xsort

has_mypy = importlib.util.find_spec("mypy") is not None
DOCS = Path(os.environ.get("XSORT_DOCS", Path(__file__).parents[2] / "docs")) / "python.md"


@pytest.mark.skipif(not has_mypy, reason="mypy is missing")
def test_stubs_match_the_module(tmp_path):
    environment = os.environ | {"MYPYPATH": str(Path(xsort.__file__).parents[1])}
    # Ray may be missing, and then three modules of xsort.ray can't be imported.
    ignored = [f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in ("ray", "pyarrow")]
    (tmp_path / "mypy.ini").write_text("[mypy]\n" + "".join(ignored))
    (tmp_path / "needs-ray").write_text("xsort\\.ray\\.(driver|job|watch)(\\..*)?\n")
    command = [sys.executable, "-m", "mypy.stubtest", "xsort", "--ignore-disjoint-bases"]
    command += ["--mypy-config-file", "mypy.ini", "--allowlist", "needs-ray"]
    command += ["--ignore-unused-allowlist"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_everything_public_has_a_docstring():
    for name in xsort.__all__:
        value = getattr(xsort, name)
        assert name == "__version__" or value.__doc__, name


def test_all_names_are_exported():
    public = {name for name in vars(xsort) if not name.startswith("_")}
    assert public - {"annotations"} <= set(xsort.__all__) | {"shm", "ray"}


@pytest.mark.skipif(not DOCS.exists(), reason="the docs are elsewhere")
def test_the_examples_of_the_docs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```pycon\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    names = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"example {number}", None, 0)
        report = []
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs
        assert not runner.failures, "".join(report)
