"""One thread at a time makes syntax trees.

Before Python 3.11.8 two that do so at once may fail with "SystemError: AST constructor recursion depth mismatch", and a
page did not open.
"""

import threading

READING = threading.RLock()
