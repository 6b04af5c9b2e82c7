#!/usr/bin/env python3
"""A preprocessor of mdbook: links that lead out of docs/ become links to the repository."""
import json
import posixpath
import re
import sys
import tomllib

if sys.argv[1:2] == ["supports"]:
    sys.exit(0)
context, book = json.load(sys.stdin)
with open(posixpath.join(context["root"], "Cargo.toml"), "rb") as manifest:
    repository = tomllib.load(manifest)["workspace"]["package"]["repository"]


def leading(page, match):
    target, fragment = match[1], match[2] or ""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    if "://" in target or path == "docs" or path.startswith("docs/"):
        return match[0]
    return f"]({repository}/blob/main/{path}{fragment})"


def walk(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            page = chapter["path"] or ""
            chapter["content"] = re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", lambda match: leading(page, match), chapter["content"])
            walk(chapter["sub_items"])


walk(book.get("items") or book.get("sections") or [])
json.dump(book, sys.stdout)
