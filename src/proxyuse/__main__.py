"""``python -m proxyuse`` is the command line."""

from proxyuse.cli.main import main

raise SystemExit(main())
