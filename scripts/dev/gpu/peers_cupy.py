# CuPy's side of the benchmark on a GPU: those items of bench.lua that it has, in the same lines "item<TAB>seconds".
import time

import cupy

from timed import timed

cupy.random.seed(0)


def wait():
    cupy.cuda.Device().synchronize()


def measure(fn, least=0.02, samples=9):
    for _ in range(3):
        fn()
    wait()
    return sorted(timed(fn, wait, least, samples))[samples // 2]


def item(name, fn):
    try:
        print(f"{name}\t{measure(fn):.9g}", flush=True)
    except Exception as e:
        print(f"{name}\tfailed\t{' '.join(str(e).split())[:200]}", flush=True)


def normal(*shape):
    return cupy.random.standard_normal(shape).astype(cupy.float32)


def main(big=100000000, side=8192):
    x, y, v = normal(16), normal(16), []
    for _ in range(25):
        wait()
        t0 = time.perf_counter()
        for _ in range(100):
            x + y
        v.append((time.perf_counter() - t0) / 100)
    print(f"launch x + y, 16\t{sorted(v)[12]:.9g}", flush=True)
    a, other = normal(big), normal(big)
    item("copy 1e8", lambda: a.copy())
    item("x * 2, 1e8", lambda: a * 2)
    item("x + y, 1e8", lambda: a + other)
    item("exp 1e8", lambda: cupy.exp(a))
    item("sum 1e8", lambda: a.sum())
    s = a[: big // 10].copy()
    item("sort 1e7", lambda: cupy.sort(s))
    del a, other, s
    p = normal(side, side)
    item("matmul f32 8192", lambda: p @ p)
    del p
    for shape in ((8, 128, 128), (1000, 64, 64), (2048, 2048)):
        m = normal(*shape)
        item("svd " + "x".join(map(str, shape)), lambda: cupy.linalg.svd(m, full_matrices=False))


if __name__ == "__main__":
    main()
