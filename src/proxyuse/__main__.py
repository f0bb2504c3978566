"""``python -m proxyuse`` is the command line."""

import os
import sys

from proxyuse.cli.main import INTERRUPTED, main

status = main()
if status == INTERRUPTED:
    # Python ignores the exit status if the interrupt arrived while it ran code from a string, as
    # numba does when it is loaded.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
raise SystemExit(status)
