"""`python -m t1.cli`, where the `t1` script is not on the path."""

import sys

from t1.cli import main

if __name__ == "__main__":  # worker processes import it again
    sys.exit(main())
