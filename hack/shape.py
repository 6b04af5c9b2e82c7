#!/usr/bin/env python3
"""Prints how the code is cut: hack/shape.py [--check | --update] [--list FIGURE]

Each figure is better when it is smaller; those in hack/shape.json may not grow. --check compares each figure with that
file and fails when one is larger; --update writes smaller figures into it, and never a larger one. --list names what a
figure counts.

The figures are read from the text of the sources, without a compiler: they show a trend, and a change that makes one worse.
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = ROOT / "hack" / "shape.json"
# Crates that users do not build: they check, measure or test the others.
NOT_BUILT = {"portolan-bench", "portolan-check", "portolan-reference", "portolan-testserver"}
# Printed and not limited: a feature may add lines.
UNLIMITED = {"thousands of lines that users build", "thousands of lines in all"}
TESTS_FROM = re.compile(r"^#\[cfg\((?:test|all\(test\b.*)\)\]\s*$")


class Source:
    """A file of a crate, and its lines without tests."""

    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(ROOT))
        self.crate = path.relative_to(ROOT / "crates").parts[0]
        parts = path.relative_to(ROOT / "crates" / self.crate / "src").with_suffix("").parts
        self.is_test = any(part == "tests" or part.endswith("_tests") for part in parts)
        self.is_root = parts[-1] in ("lib", "main")
        self.module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
        self.all = path.read_text().splitlines()
        self.lines = [] if self.is_test else list(without_tests(self.all))

    def code(self):
        """The lines with their numbers, without comments."""
        for number, line in self.lines:
            if not line.lstrip().startswith("//"):
                yield number, line


def without_tests(lines):
    """The lines outside of modules of tests. rustfmt ends such a module with a brace in the column where it began."""
    skipping = waiting = None
    for number, line in enumerate(lines, 1):
        indent = line[: len(line) - len(line.lstrip())]
        if skipping is not None:
            if line == skipping + "}":
                skipping = None
            continue
        if waiting is not None:
            if line.lstrip().startswith("#["):
                continue
            if line.rstrip().endswith("{"):
                skipping = waiting
            waiting = None
            continue
        if TESTS_FROM.match(line.strip()):
            waiting = indent
            continue
        yield number, line


def sources():
    found = sorted((ROOT / "crates").glob("*/src/**/*.rs"))
    return [Source(path) for path in found]


def functions(source):
    """Each function: name, line, length, parameters. A function ends with a brace in the column where it began."""
    begun = None
    for number, line in source.lines:
        if begun is None:
            found = re.match(r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+)*fn\s+(\w+)", line)
            if found:
                begun = (found.group(1), found.group(2), number, [])
            else:
                continue
        indent, name, start, text = begun
        text.append(line)
        opened = line.rstrip().endswith("{") and (number == start or line.startswith(indent) and not line.startswith(indent + " "))
        is_one_line = number == start and line.rstrip().endswith(("}", ";"))
        if line == indent + "}" or is_one_line or (line == indent + ";"):
            yield name, start, number - start + 1, "\n".join(text).split("{")[0]
            begun = None
        elif not opened and line.rstrip().endswith(";") and "{" not in "".join(text):
            begun = None


def function_lengths(files, longest):
    for source in files:
        for name, line, length, _ in functions(source):
            if length > longest:
                yield f"{source.name}:{line} {name}: {length} lines"


def bool_parameters(files):
    for source in files:
        for name, line, _, head in functions(source):
            head = head.split("->")[0]
            if re.search(r"\w+:\s*bool\b", head):
                yield f"{source.name}:{line} {name}"


def circles(files):
    """Files that use each other. A file may use its own mod.rs, and a mod.rs its own files."""
    by_crate = defaultdict(dict)
    for source in files:
        if not source.is_test:
            by_crate[source.crate][source.module] = source
    for crate, modules in sorted(by_crate.items()):
        uses = {module: used_modules(source, modules) for module, source in modules.items()}
        for circle in components(uses):
            if len(circle) > 1:
                names = ["::".join(module) or "the root" for module in sorted(circle)]
                yield f"{crate}: {', '.join(names[:6])}{' …' if len(names) > 6 else ''} ({len(names)} files)"


def used_modules(source, modules):
    used = set()
    for _, line in source.code():
        for path in re.findall(r"\b((?:crate|super|self)(?:::\w+)+)", line):
            target = resolve(source, path.split("::"), modules)
            is_kin = target is None or target == source.module[: len(target)] or source.module == target[: len(source.module)]
            if not is_kin:
                used.add(target)
    return used


def resolve(source, path, modules):
    here = list(source.module)
    while path and path[0] in ("crate", "super", "self"):
        if path[0] == "crate":
            here = []
        elif path[0] == "super":
            here = here[:-1]
        path = path[1:]
    for length in range(len(path), -1, -1):
        candidate = tuple(here + path[:length])
        if candidate in modules and candidate:
            return candidate
    return None


def components(uses):
    """Sets of modules that reach each other, by two passes of depth-first search."""
    order, seen = [], set()

    def walk(graph, start, found):
        stack = [(start, iter(graph.get(start, ())))]
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                stack.pop()
                found.append(node)
            else:
                seen.add(following)
                stack.append((following, iter(graph.get(following, ()))))

    for module in uses:
        if module not in seen:
            walk(uses, module, order)
    back = defaultdict(set)
    for module, others in uses.items():
        for other in others:
            back[other].add(module)
    seen.clear()
    for module in reversed(order):
        if module not in seen:
            found = []
            walk(back, module, found)
            yield found


def crates_under(name):
    """The crates of ours that a crate needs to be built."""
    wanted, found = [name], set()
    while wanted:
        manifest = (ROOT / "crates" / wanted.pop() / "Cargo.toml").read_text()
        part = re.search(r"^\[dependencies\]\n(.*?)(?=^\[|\Z)", manifest, re.M | re.S)
        for other in re.findall(r"^(portolan-\w+)\b", part.group(1) if part else "", re.M):
            if other not in found:
                found.add(other)
                wanted.append(other)
    return sorted(found)


def fields(files):
    for source in files:
        inside = None
        for number, line in source.lines:
            begun = re.match(r"^\s*(?:pub(?:\([^)]*\))?\s+)?struct\s+(\w+).*\{$", line)
            if begun:
                inside = [begun.group(1), number, 0, line[: len(line) - len(line.lstrip())]]
            elif inside and line == inside[3] + "}":
                yield inside[2], f"{source.name}:{inside[1]} {inside[0]}: {inside[2]} fields"
                inside = None
            elif inside and re.match(r"^\s*(?:pub(?:\([^)]*\))?\s+)?\w+:\s", line):
                inside[2] += 1


def implementations(files):
    """Types of one crate with inherent methods in several files."""
    places = defaultdict(set)
    for source in files:
        for _, line in source.code():
            found = re.match(r"^impl(?:<[^>]*>)?\s+(\w+)(?:<(?:(?! for ).)*>)?\s*\{$", line)
            if found:
                places[source.crate, found.group(1)].add(source.name)
    for (crate, name), where in sorted(places.items()):
        if len(where) > 1:
            yield f"{crate} {name}: {len(where)} files"


def matching(files, pattern, everywhere=False):
    for source in files:
        lines = enumerate(source.all, 1) if everywhere else source.lines
        for number, line in lines:
            if re.search(pattern, line):
                yield f"{source.name}:{number} {line.strip()[:80]}"


def test_names(files):
    integration = sorted((ROOT / "crates").glob("*/tests/**/*.rs"))
    texts = [(source.name, source.all) for source in files]
    texts += [(str(path.relative_to(ROOT)), path.read_text().splitlines()) for path in integration]
    for name, lines in texts:
        for number, line in enumerate(lines, 1):
            found = re.match(r"^\s*(?:async )?fn (\w+)\(", line)
            if found and len(found.group(1)) > 80:
                yield f"{name}:{number} {found.group(1)}"


def figures():
    files = sources()
    kept = [source for source in files if not source.is_test]
    counts = [(len(source.lines), f"{source.name}: {len(source.lines)} lines") for source in kept]
    built = [source for source in kept if source.crate not in NOT_BUILT]
    yield "circles between files", list(circles(kept))
    yield "crates of ours under the agent", crates_under("portolan-agent")
    yield "functions over 80 lines", list(function_lengths(kept, 80))
    yield "functions over 60 lines", list(function_lengths(kept, 60))
    yield "functions with a bool parameter", list(bool_parameters(kept))
    yield "files over 400 lines", [text for number, text in counts if number > 400]
    yield "types over 12 fields", [text for number, text in fields(kept) if number > 12]
    yield "types with methods in several files", list(implementations(kept))
    yield "files without a module comment", [source.name for source in kept if not source.all[0].startswith("//!")]
    yield "constants named PATIENCE", list(matching(kept, r"\bconst PATIENCE\b"))
    comment = r"^\s*//[/!]?\s+(?:\* )?(?:Who|Whoever|Nobody|Somebody)\b"
    yield "comments that begin with Who, Whoever, Nobody, Somebody", list(matching(files, comment, everywhere=True))
    yield "test names over 80 characters", list(test_names(files))
    yield "thousands of lines that users build", range(round(sum(len(source.lines) for source in built) / 1000))
    yield "thousands of lines in all", range(round(sum(len(source.lines) for source in kept) / 1000))


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    found = dict(figures())
    if arguments[:1] == ["--list"]:
        wanted = " ".join(arguments[1:])
        if wanted not in found:
            print(f"{wanted!r} is no figure; accepted: {', '.join(found)}", file=sys.stderr)
            return 2
        print("\n".join(map(str, found[wanted])))
        return 0
    if arguments not in ([], ["--check"], ["--update"]):
        print(f"{arguments[0]} is no option; accepted: --check, --update, --list FIGURE", file=sys.stderr)
        return 2
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    worse = []
    for name, items in found.items():
        limit = limits.get(name)
        print(f"{len(items):6}  {name}{'' if limit is None else f' (at most {limit})'}")
        if limit is not None and len(items) > limit:
            worse.append(name)
    if arguments == ["--update"]:
        smaller = {name: min(len(items), limits.get(name, len(items))) for name, items in found.items() if name not in UNLIMITED}
        LIMITS.write_text(json.dumps(smaller, indent=2) + "\n")
    for name in worse:
        print(f"worse than before: {name}; `hack/shape.py --list {name}` names them", file=sys.stderr)
    return 1 if worse and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
