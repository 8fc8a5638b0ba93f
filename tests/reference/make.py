"""Write the tables of reference values: `python tests/reference/make.py`, or some of them by name. It takes minutes."""

import sys

import definitions
import dynamics
import tables

TABLES = dynamics.TABLES | definitions.TABLES


def main() -> None:
    """Compute and write."""
    for name in sys.argv[1:] or TABLES:
        found = {function: tables.rows(reference, cases) for function, (reference, cases) in TABLES[name].items()}
        tables.write(name, found)
        print(name, {function: len(rows) for function, rows in found.items()}, flush=True)


if __name__ == "__main__":
    main()
