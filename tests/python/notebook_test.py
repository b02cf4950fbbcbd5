"""Runs the cells of a notebook in order: notebook_test.py NOTEBOOK; with --types, checks their types.

Exits 77 where what it needs is not installed."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile


def cells(notebook):
    content = json.loads(pathlib.Path(notebook).read_text())
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def need(module):
    if importlib.util.find_spec(module) is None:
        print(f"{module} is not installed")
        sys.exit(77)


def run(notebook):
    need("pandas")
    names = {}
    for number, cell in enumerate(cells(notebook), 1):
        exec(compile(cell, f"{notebook}, cell {number}", "exec"), names)


def check_types(notebook):
    need("mypy")
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder) / "notebook.py"
        code.write_text("\n".join(cells(notebook)) + "\n")
        checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, code])
    sys.exit(checked.returncode)


if __name__ == "__main__":
    if sys.argv[1] == "--types":
        check_types(sys.argv[2])
    run(sys.argv[1])
