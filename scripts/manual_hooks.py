# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What MkDocs does beside its own: the pages at the top of the repository are pages of the manual, too."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent

PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files at the top of the repository, and their names in the manual."""

LICENSE_PAGE = "license.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the site's address from the manifest, from which the extension takes it for its Online Manual entries."""
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    config.site_url = manifest["website"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the top of the repository."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    files.append(File.generated(config, LICENSE_PAGE, content=f"# License\n\n```text\n{text}\n```\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with its links as they are in the manual."""
    return with_links_of_the_manual(markdown)


def with_links_of_the_manual(markdown: str) -> str:
    """Return a page of the repository with links that lead to pages of the manual."""
    links = {**PAGES, "LICENSE": LICENSE_PAGE}

    def in_manual(found: re.Match[str]) -> str:
        path, anchor = found[1].removeprefix("../"), found[2] or ""
        return f"]({links.get(path, path.removeprefix('docs/'))}{anchor})"

    return re.sub(r"\]\(([^():#]+)(#[^()]*)?\)", in_manual, markdown)
