"""Speed, measured: each case against what one would otherwise do, side by side in one process."""
