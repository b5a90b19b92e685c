"""The executable notes: live pages in the browser, one marimo notebook a section, behind a small guard."""
