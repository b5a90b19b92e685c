"""Reports: the folder of a run or a study in, one HTML or Markdown file out. No network is built, no data are read."""

from lamina.report._commands import spell
from lamina.report.render import render, write_report

__all__ = ["render", "spell", "write_report"]
