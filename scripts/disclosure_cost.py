"""What withheld counts cost: the widths of printed ranges, for the table in `docs/report.md`.

Run it as `PYTHONPATH=src:. python scripts/disclosure_cost.py`; it takes a few seconds.
"""

from __future__ import annotations

import numpy as np

from proxyuse.report.document import document
from tests.report.hidden_tables import audited, hidden_table

SHAPES = [(2, 2), (2, 2), (2, 3), (3, 3), (2, 5), (5, 2)]
SIZES = (300, 1_000, 5_000, 50_000)


def main() -> None:
    """Print the median and the widest range at each size."""
    for rows in SIZES:
        random = np.random.default_rng(7)
        associations, guesses, steps = [], [], []
        for shape in SHAPES:
            result = document(audited(hidden_table(shape, rows, random))[0])
            for witness in result.witnesses:
                if (known := witness.association_range) is not None:
                    associations.append(known[1] - known[0])
                if (known := witness.guess.informed_range) is not None:
                    guesses.append(known[1] - known[0])
                if witness.direction is not None:
                    steps += [g.step for g in witness.direction.groups if g.changed is not None]
        print(
            f"{rows:>6,} rows: association {np.median(associations):.4f} "
            f"(widest {max(associations):.4f}), guess rate {np.median(guesses):.4f}, "
            f"step {np.median(steps):.4f}"
        )


if __name__ == "__main__":
    main()
