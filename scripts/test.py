# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run every check: linters, import contracts, the unit tests and those inside Blender; with --gui those in its window.

The last line says ``N passed, N failed`` (and ``, N skipped``) over everything; a linter counts as one check. The exit
status is 0 only if nothing failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import environment

_LINT_SECONDS = 300.0
_TEST_SECONDS = 2400.0
_INSTALL_SECONDS = 1800.0
_WINDOW_SECONDS = 3600.0  # the first time it makes a Debian with Blender in it
_PARTS = ("lint", "unit", "blender")

# os._exit: Blender as a module can hang while Python shuts down, after the tests have long reported.
_PYTEST = "import os, sys, pytest; status = pytest.main(); sys.stdout.flush(); sys.stderr.flush(); os._exit(status)"


@dataclass(frozen=True)
class Outcome:
    """What one step counted, and the words for a step that did not count anything."""

    step: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    note: str = ""


def main() -> None:
    """Run what the command line asks for and exit with its status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="also test in the other Blender, if its Python is there")
    parser.add_argument(
        "--gui", action="store_true", help="also test in a Blender with its window; alone with --only gui"
    )
    parser.add_argument("--only", choices=(*_PARTS, "gui"), help="run one part")
    arguments = parser.parse_args()
    environment.enter()

    parts = (arguments.only,) if arguments.only else _PARTS
    test_parts = [part for part in parts if part in {"unit", "blender"}]
    here = sys.version_info[:2]
    others = [other for other in environment.PYTHONS if other != here] if arguments.all and test_parts else []
    # First of all: what one Blender saves the other opens in some tests.
    made = {other: _make_other(other) for other in others}
    outcomes = _run_lint() if "lint" in parts else []
    outcomes += [_run_pytest(Path(sys.executable), here, part) for part in test_parts]
    for other, python in made.items():
        outcomes += (
            [python] if isinstance(python, Outcome) else [_run_pytest(python, other, part) for part in test_parts]
        )
    if arguments.gui or arguments.only == "gui":
        # Once: its Blender is Debian's, whatever Python runs this.
        outcomes.append(_run_pytest(Path(sys.executable), here, "gui", _WINDOW_SECONDS))
    _report(outcomes)
    sys.exit(any(outcome.failed for outcome in outcomes))


def _run_lint() -> list[Outcome]:
    steps = {
        "ruff check": ["-m", "ruff", "check", "."],
        "ruff format": ["-m", "ruff", "format", "--check", "."],
        "mypy": ["-m", "mypy"],
        "import contracts": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        "vulture": ["-m", "vulture"],
        # Over everything, a name that only the tests or the bench use counts as used.
        "vulture, extension alone": ["-m", "vulture", "fabrik_addon", "__init__.py"],
        "manual": ["scripts/manual.py"],
    }
    outcomes = []
    for step, words in steps.items():
        start = time.perf_counter()
        status = _run(step, [sys.executable, *words], _LINT_SECONDS)
        passed = status == 0
        outcomes.append(
            Outcome(step, int(passed), int(not passed), 0, time.perf_counter() - start, _status_note(status))
        )
    return outcomes


def _run_pytest(python: Path, version: tuple[int, int], part: str, seconds: float = _TEST_SECONDS) -> Outcome:
    step = f"tests/{part}, Python {version[0]}.{version[1]}"
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        command = [str(python), "-c", _PYTEST, f"tests/{part}", f"--junit-xml={results}"]
        # On all processors, but for the one window: software OpenGL takes them all.
        command += [] if part == "gui" else ["-n", "auto", "--dist", "worksteal"]
        # With it glibc overwrites freed memory: reading a bone that Blender has freed crashes, instead of mostly not.
        variables = {} if part == "gui" else {"MALLOC_PERTURB_": "165"}
        status = _run(step, command, seconds, **variables)
        passed, failed, skipped = _counts(results)
        reason = _reason_for_skipping(results)
    if status != 0 and not failed:
        failed = 1  # a crash, a hang, a collection without tests: pytest itself counted no failure
    return Outcome(step, passed, failed, skipped, time.perf_counter() - start, _status_note(status) or reason)


def _make_other(version: tuple[int, int]) -> Path | Outcome:
    """Return the Python of another environment, made by its own interpreter, or why there is none."""
    step = f"Python {version[0]}.{version[1]}"
    python = _find_python(version)
    if python is None:
        return Outcome(step, skipped=1, note=f"python{version[0]}.{version[1]} is not installed")
    status = _run(step, [python, str(environment.ROOT / "scripts/environment.py")], _INSTALL_SECONDS)
    if status != 0:
        return Outcome(step, failed=1, note="its environment could not be made")
    return environment.environment_python(version)


def _find_python(version: tuple[int, int]) -> str | None:
    """Find an interpreter of that version: on the PATH, in pyenv, or by the Windows launcher."""
    name = f"{version[0]}.{version[1]}"
    candidates = [[f"python{name}"], ["py", f"-{name}"]]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    # A pyenv shim on the PATH fails for every version but the chosen one, so look behind it too.
    candidates += [[str(path)] for path in sorted(pyenv.glob(f"versions/{name}.*/bin/python"))]
    for candidate in candidates:
        if shutil.which(candidate[0]) is None:
            continue
        question = "import sys; print(sys.executable if sys.version_info[:2] == " + f"{version} else '')"
        answer = subprocess.run([*candidate, "-c", question], capture_output=True, text=True, timeout=60)
        if answer.returncode == 0 and answer.stdout.strip():
            return answer.stdout.strip()
    return None


def _run(step: str, command: list[str], seconds: float, **variables: str) -> int | None:
    """Run a command with its output on the terminal; return its exit status, None if it had to be stopped.

    Args:
        variables: of its environment, beside those of this process.
    """
    print(f"\n=== {step}", flush=True)
    process = subprocess.Popen(
        command, cwd=environment.ROOT, stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **variables}
    )
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"stopped after {seconds:.0f} s", flush=True)
        return None
    finally:
        if process.poll() is None:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)  # with the Blenders the tests have started
    else:
        process.kill()
    process.wait()


def _counts(results: Path) -> tuple[int, int, int]:
    if not results.exists():
        return 0, 0, 0
    passed = failed = skipped = 0
    for suite in ElementTree.parse(results).iter("testsuite"):
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        left_out = int(suite.get("skipped", 0))
        failed += bad
        skipped += left_out
        passed += max(int(suite.get("tests", 0)) - bad - left_out, 0)
    return passed, failed, skipped


def _reason_for_skipping(results: Path) -> str:
    """Return why tests were skipped, if all were."""
    if not results.exists():
        return ""
    cases = list(ElementTree.parse(results).iter("testcase"))
    reasons = [reason.get("message", "") for case in cases for reason in case.iter("skipped")]
    return f"skipped: {reasons[0]}" if reasons and len(reasons) == len(cases) else ""


def _status_note(status: int | None) -> str:
    if status is None:
        return "stopped: it took too long"
    return f"killed by signal {-status}" if status < 0 else ""


def _report(outcomes: list[Outcome]) -> None:
    print("\n=== summary")
    width = max(len(outcome.step) for outcome in outcomes)
    for outcome in outcomes:
        counts = f"{outcome.passed:5d} passed {outcome.failed:4d} failed {outcome.skipped:4d} skipped"
        print(f"{outcome.step:{width}s} {counts} {outcome.seconds:7.1f} s  {outcome.note}".rstrip())
    skipped = sum(outcome.skipped for outcome in outcomes)
    line = f"{sum(outcome.passed for outcome in outcomes)} passed, {sum(outcome.failed for outcome in outcomes)} failed"
    print(f"{line}, {skipped} skipped" if skipped else line, flush=True)


if __name__ == "__main__":
    main()
