"""The timed part of a benchmark in Python, whichever library it is of."""
import time


def timed(fn, wait, least, samples):
    """Seconds of a call of fn in each of `samples` rounds of at least `least` seconds; wait() ends a round."""
    t0 = time.perf_counter()
    fn()
    wait()
    n = max(1, int(least / max(time.perf_counter() - t0, 1e-7)))
    v = []
    for _ in range(samples):
        t0 = time.perf_counter()
        for _ in range(n):
            fn()
        wait()
        v.append((time.perf_counter() - t0) / n)
    return v
