"""How PyTorch's side of the benchmarks measures: what measure.lua beside this file says."""
import sys
import time

import torch

from timed import timed

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.manual_seed(0)
# "cpu" tries the programs without a GPU
gpu = torch.device("cpu" if "cpu" in sys.argv[1:] else "cuda")


def wait():
    if gpu.type == "cuda":
        torch.cuda.synchronize()


def forget():
    if gpu.type == "cuda":
        torch.cuda.empty_cache()


def report(name, rounds):
    v = sorted(rounds)
    print(f"{name}\t{v[len(v) // 2]:.9g}\t0\t0\t{v[0]:.9g}\t{v[-1]:.9g}", flush=True)


def failed(name, error):
    print(f"{name}\tfailed\t{' '.join(str(error).split())[:200]}", flush=True)


def rounds(fn, least=0.02, samples=9):
    begun = time.perf_counter()
    for _ in range(3):
        fn()
        wait()
        if time.perf_counter() - begun > 0.5:  # svd: seconds a call
            samples = min(samples, 3)
            break
    return timed(fn, wait, least, samples)


def item(name, fn, least=0.02, samples=9):
    try:
        report(name, rounds(fn, least, samples))
    except Exception as e:
        failed(name, e)
    forget()
