#!/usr/bin/env python3
"""Does a document say what is so?

  documents_test.py STEPTIME DOCUMENT

Follows every link inside of the repository and every path between backquotes, counts the cells of tables, and runs every block of
commands (```sh) in a folder of its own that has the repository's folders. A block of output (```text) behind
it is compared: "..." alone stands for any lines, at the end of a line for its rest. In front of a block of
commands may stand

  <!-- not run: REASON -->    only its form is checked: bash reads it, and steptime's verbs have its options
  <!-- needs: PROGRAM -->     the same where that program, or file, is not here

A block of JSON (```json) with a "name" is checked by `steptime check`. docs/keys.md and docs/accuracy.md are
what the program writes. README.md is short, and its lines that link to a part of docs/accuracy.md have the
figures of that page's totals.
"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES, MOST_COLUMNS = 160, 120  # of README.md
SECONDS = 600  # of a block
failures = []


def fail(line, message):
    failures.append(f"{document.relative_to(ROOT)}:{line}: {message}")


def slug(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def headings(path):
    fenced, found = False, set()
    for line in path.read_text().splitlines():
        fenced ^= line.startswith("```")
        if not fenced and line.startswith("#"):
            found.add(slug(line.lstrip("#")))
    return found


def check_links(number, line):
    for target in re.findall(r"\]\(([^)\s]+)\)", line):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, place = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if not path.exists():
            fail(number, f"nothing at {target}")
        elif place and place not in headings(path):
            fail(number, f"no heading for {target}")


def check_paths(number, line):
    tops = {entry.name for entry in ROOT.iterdir() if entry.is_dir()} - {"build", "docs"}
    for quoted in re.findall(r"`([^`\s]+/[^`\s]*)`", line):
        if quoted.split("/")[0] in tops and not re.search(r"NAME|PAPER|[*{$<]|\.\.\.", quoted):
            if not (ROOT / quoted).exists():
                fail(number, f"nothing at {quoted}")


def columns(line):
    return len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", ""), line)))


def check_table(number, line, above):
    if line.startswith("|") and above.startswith("|") and columns(line) != columns(above):
        fail(number, f"a row of {columns(line) - 1} cells below one of {columns(above) - 1}")


def blocks(lines):
    """(language, first line's number, text, the comment in front) of each fenced block."""
    at = 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = at + 1
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            before = lines[at - 1] if at else ""
            yield lines[at][3:].strip(), at + 2, "\n".join(lines[at + 1 : end]) + "\n", before
            at = end
        at += 1


def has_form(number, text):
    read = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    if read.returncode:
        fail(number, f"bash does not read this: {read.stderr.strip()}")
        return
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    for at, word in enumerate(words):
        if word != "steptime" or at + 1 >= len(words) or words[at - 1].startswith("--"):
            continue
        verb = words[at + 1]
        what = words[at + 2 : at + 3] if verb in ("calibrate", "import") else []
        usage = subprocess.run([steptime, verb, *what, "--help"], capture_output=True, text=True)
        if usage.returncode == 6:
            continue  # what would say it was not built
        if usage.returncode:
            fail(number, f"steptime has no verb {verb}")
            continue
        for option in words[at + 2 :]:
            if option in ("|", "&&", ";", "steptime"):
                break
            name = option.split("=")[0]
            if re.fullmatch(r"--?[a-z][a-z-]*", name) and not re.search(rf"(^|\s){name}\b", usage.stdout):
                fail(number, f"steptime {verb} has no option {name}")


def is_here(what):
    return Path(what).exists() or shutil.which(what) is not None


def run(number, text, folder):
    environment = dict(os.environ, PATH=f"{steptime.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    block = subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, start_new_session=True)
    try:
        printed, _ = block.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(block.pid, signal.SIGKILL)  # with all that it started
        block.communicate()
        fail(number, f"not done after {SECONDS} s")
        return ""
    if block.returncode:
        fail(number, f"exit code {block.returncode}: {printed.strip()[-500:]}")
    return printed


def is_shown(line, real):
    line, real = line.rstrip(), real.rstrip()
    return real.startswith(line[:-3].rstrip()) if line.endswith("...") else line == real


def compare(number, shown, real):
    """Each run of lines between two "..." is looked for behind the one before."""
    real, at, is_free = real.splitlines(), 0, False
    for offset, line in enumerate(shown.splitlines()):
        if line.strip() == "...":
            is_free = True
            continue
        while is_free and at < len(real) and not is_shown(line, real[at]):
            at += 1
        if at >= len(real) or not is_shown(line, real[at]):
            fail(number + offset, f"shown:   {line}\n    printed: {real[at] if at < len(real) else 'no more'}")
            return
        at, is_free = at + 1, False
    if not is_free and any(rest.strip() for rest in real[at:]):
        fail(number, f"more was printed: {real[at]}")


def check_totals(lines):
    """Lines of README's table that link to a paper: its figures behind the first cell."""
    def cells(line):
        return [cell.strip() for cell in line.strip("| ").split(" | ")]

    totals = {}
    for line in (ROOT / "docs/accuracy.md").read_text().splitlines():
        if found := re.match(r"\| \[[^]]*\]\(#([\w-]+)\) \|", line):
            totals[found[1]] = cells(line)[1:]
    for number, line in lines:
        if found := re.match(r"\| \[[^]]*\]\(docs/accuracy\.md#([\w-]+)\)", line):
            if cells(line)[1:] != totals.get(found[1]):
                fail(number, f"docs/accuracy.md has {totals.get(found[1])}")


def check_written(command):
    written = subprocess.run([steptime, *command], capture_output=True, text=True)
    if written.stdout != document.read_text():
        path = document.relative_to(ROOT)
        fail(1, f"not what the program writes: run steptime {' '.join(command)} > {path}")


def check_blocks(lines):
    with tempfile.TemporaryDirectory() as folder:
        for entry in ROOT.iterdir():
            if entry.name not in {".git", "build", "results", "docs"}:
                os.symlink(entry, Path(folder) / entry.name)
        printed = None
        for language, number, text, before in blocks(lines):
            if language == "sh":
                reason = re.fullmatch(r"<!-- not run: .+ -->", before)
                needs = re.fullmatch(r"<!-- needs: (\S+) -->", before)
                has_form(number, text)
                is_run = not reason and (not needs or is_here(needs[1]))
                printed = run(number, text, folder) if is_run else None
            elif language == "text" and printed is not None:
                compare(number, text, printed)
                printed = None
            elif language == "json":
                value = json.loads(text)
                if isinstance(value, dict) and "name" in value:
                    path = Path(folder) / "block.json"
                    path.write_text(text)
                    run(number, "steptime check block.json", folder)


steptime, document = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
content = document.read_text().splitlines()
fenced = False
for n, one in enumerate(content, 1):
    fenced ^= one.startswith("```")
    if not fenced:
        check_links(n, one)
        check_paths(n, one)
        check_table(n, one, content[n - 2] if n > 1 else "")
if document == ROOT / "README.md":
    if len(content) > MOST_LINES:
        fail(len(content), f"{len(content)} lines, at most {MOST_LINES} are wanted")
    for n, one in enumerate(content, 1):
        if len(one) > MOST_COLUMNS:
            fail(n, f"{len(one)} columns, at most {MOST_COLUMNS} are wanted")
    check_totals(enumerate(content, 1))
if document == ROOT / "docs/keys.md":
    check_written(["schema", "--format", "markdown"])
if document == ROOT / "docs/accuracy.md":
    check_written(["reproduce", "--format", "markdown"])
check_blocks(content)
print("\n".join(failures) or f"{document.relative_to(ROOT)}: ok")
sys.exit(1 if failures else 0)
