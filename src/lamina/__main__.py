"""`python -m lamina` is the `lamina` command."""

from lamina.cli import main

main()
