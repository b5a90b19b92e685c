"""Reports: a run folder in, one HTML or Markdown file out. No network is built and no data are read."""

from lamina.report.render import render, write_report

__all__ = ["render", "write_report"]
