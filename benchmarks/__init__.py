"""Speed, measured: each case against what one would otherwise do, side by side in one process."""

import os

# Products of small matrices, shared among threads that wait for each other, cost CPU seconds and gain none.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
