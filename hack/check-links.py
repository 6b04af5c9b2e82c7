#!/usr/bin/env python3
"""Fails when a Markdown file of the repository links to a file or a heading that is not there, or when docs/SUMMARY.md
lacks a page of docs/."""
import functools
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=root, capture_output=True, text=True, check=True)
files = listed.stdout.split()


@functools.cache
def headings(page):
    """The fragments that headings of a page have, as the forge and mdbook make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    fragments, seen = set(re.findall(r'<a id="([^"]+)">', text)), {}
    for heading in re.findall(r"^#+ +(.+?) *$", text, flags=re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        fragments.add(slug if number == 0 else f"{slug}-{number}")
    return fragments


broken = []
for name in files:
    page = root / name
    for target, fragment in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
        if "://" in target or not (target or fragment):
            continue
        other = page.parent / target if target else page
        if not other.exists():
            broken.append(f"{name}: {target}")
        elif fragment and other.suffix == ".md" and fragment not in headings(other.resolve()):
            broken.append(f"{name}: {target}#{fragment}")
summary = set(re.findall(r"\]\(([^)]+)\)", (root / "docs/SUMMARY.md").read_text()))
for name in files:
    page = name.removeprefix("docs/")
    if name.startswith("docs/") and page not in summary and page != "SUMMARY.md":
        broken.append(f"docs/SUMMARY.md: {page} is missing")
print("\n".join(broken) if broken else f"{len(files)} pages, every link leads somewhere")
sys.exit(bool(broken))
