#!/usr/bin/env python3
"""Writes docs/reference.md from the names in crates/portolan-api/src/labels.rs; with --check it fails when the page is old."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs/reference.md"
SECTIONS = {
    "conditions": ("Condition types", "Each names the kind of object first."),
    "reasons": ("Reasons of conditions", ""),
    "portolan": ("Names of Portolan", "Labels, annotations and finalizers with the prefix `portolan.dev/`, and names of objects."),
    "ocm": ("Names of Open Cluster Management", "Labels, annotations, taints and finalizers that Portolan reads or writes as OCM does."),
    "multicluster": ("Names of the standard", "Labels and finalizers of KEP-5313 and of the multicluster group."),
}
CONSTANT = re.compile(r'((?:    ///[^\n]*\n)+)    pub const \w+: &str =\s*"([^"]+)";')

source = (root / "crates/portolan-api/src/labels.rs").read_text()
modules = dict(re.findall(r"^pub mod (\w+) \{\n(.*?)^\}", source, flags=re.M | re.S))
text = """# Names

This page is generated from the code (`hack/reference.py`). Commands and flags are on [their own page](cli.md), and so are
[fields of JSON answers](json.md) and [metrics](observability.md#metrics).
"""
for module, (title, about) in SECTIONS.items():
    text += f"\n## {title}\n\n" + (f"{about}\n\n" if about else "") + "| name | meaning |\n|---|---|\n"
    for comment, name in CONSTANT.findall(modules[module]):
        meaning = " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())
        text += f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |\n"
# What conditions say besides is text for people.
missing = set(modules) - set(SECTIONS) - {"messages"}
if missing:
    sys.exit(f"hack/reference.py has no section for {', '.join(sorted(missing))}")
if sys.argv[1:] == ["--check"]:
    if page.read_text() != text:
        sys.exit("docs/reference.md is old: run hack/reference.py")
else:
    page.write_text(text)
