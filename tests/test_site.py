"""The documentation hangs together: pages are found, links lead somewhere, the references leave nothing out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation_and_every_link_leads_somewhere():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name in navigation
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (DOCS / link).exists(), f"{page.name} links to {link}"
