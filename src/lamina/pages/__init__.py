"""The executable notes: live pages in the browser, one marimo notebook per section, behind a small guard."""
