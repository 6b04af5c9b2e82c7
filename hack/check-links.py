#!/usr/bin/env python3
"""Fails when a Markdown file of the repository links to a file that is not there."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
files = subprocess.run(["git", "ls-files", "*.md"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
broken = []
for name in files:
    page = root / name
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target and not (page.parent / target).exists():
            broken.append(f"{name}: {target}")
print("\n".join(broken) if broken else f"{len(files)} pages, every link leads somewhere")
sys.exit(bool(broken))
