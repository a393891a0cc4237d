# PyTorch's side of the benchmark on a GPU: the items of bench.lua, in the lines of measure.py.
import os, sys, time

import torch

from measure import gpu, item, report

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import masked


def launches():
    """Seconds of the host for a launch, without the wait for it."""
    x, y, v = torch.randn(16, device=gpu), torch.randn(16, device=gpu), []
    for _ in range(25):
        torch.cuda.synchronize()
        t0 = time.perf_counter()
        for _ in range(100):
            x + y
        v.append((time.perf_counter() - t0) / 100)
    report("launch x + y, 16", v)


def profiling():
    from torch.profiler import profile, ProfilerActivity
    x, y, N = torch.randn(16, device=gpu), torch.randn(16, device=gpu), 1000
    best = without = float("inf")

    def plain():
        for _ in range(N):
            x + y
        torch.cuda.synchronize()
    for _ in range(5):
        t0 = time.perf_counter()
        plain()
        t1 = time.perf_counter()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            plain()
        prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
        best = min(best, time.perf_counter() - t1)
        without = min(without, t1 - t0)
    report("profiling an op", [(best - without) / N])


launches()
profiling()
a, other = torch.randn(100000000, device=gpu), torch.randn(100000000, device=gpu)
item("copy 1e8", lambda: a.clone())
item("x * 2, 1e8", lambda: a * 2)
item("x + y, 1e8", lambda: a + other)
item("exp 1e8", lambda: a.exp())
item("sum 1e8", lambda: a.sum())
h = a.bfloat16()
item("bf16 x * 2, 1e8", lambda: h * 2)
del a, other, h
m = torch.randn(32768, 4096, device=gpu)
w, b = torch.ones(4096, device=gpu), torch.zeros(4096, device=gpu)
item("softmax 32768x4096", lambda: m.softmax(-1))
item("layer_norm 32768x4096", lambda: torch.nn.functional.layer_norm(m, (4096,), w, b))
v = torch.randn(10000000, device=gpu)
item("sort 1e7", lambda: v.sort())
del m, v
for dtype, name in ((torch.bfloat16, "bf16"), (torch.float32, "f32")):
    p, q = (torch.randn(8192, 8192, device=gpu).to(dtype) for _ in range(2))
    item(f"matmul {name} 8192", lambda: p @ q)
del p, q
image, kernel = torch.randn(128, 10, 256, 256, device=gpu), torch.randn(10, 10, 3, 3, device=gpu)
item("conv2d 10 to 10, 128x256x256", lambda: torch.nn.functional.conv2d(image, kernel, None, 1, 1))
item("conv2d 10 to 10 backward, 128x256x256", lambda: torch.ops.aten.convolution_backward(image, image, kernel, None,
    [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]))
item("max_pool2d 3, 128x10x256x256", lambda: torch.nn.functional.max_pool2d(image, 3, 2, 1))
del image
for name, shape in (("8x128x128", (8, 128, 128)), ("512x128x128", (512, 128, 128)), ("1000x64x64", (1000, 64, 64)), ("2048x2048", (2048, 2048))):
    s = torch.randn(shape, device=gpu)
    item(f"svd {name}", lambda: torch.linalg.svd(s, full_matrices=False))
layer, sequence = torch.nn.LSTM(1024, 1024).to(gpu), torch.randn(50, 50, 1024, device=gpu)
with torch.no_grad():
    item("lstm 50x50x1024", lambda: layer(sequence))
del s, layer, sequence


def peers_of_odd_shapes():
    """Those of bench.lua; what PyTorch has no single call for is left out."""
    v, m, lines = torch.randn(100000000, device=gpu), torch.randn(10000, 10000, device=gpu), torch.randn(1000000, 100, device=gpu)
    item("cumsum 1e8", lambda: v.cumsum(0))
    item("cumsum 10000x10000, dim 1", lambda: m.cumsum(0))
    item("cumsum 10000x10000, dim 2", lambda: m.cumsum(1))
    item("cumsum 1000000x100", lambda: lines.cumsum(1))
    item("softmax 1e8", lambda: v.softmax(0))
    item("softmax 10000x10000, dim 1", lambda: m.softmax(0))
    positive = v > 0
    item("masked_select 1e8", lambda: v.masked_select(positive))
    item("histc 1e8", lambda: v.histc(100, -4, 4))
    labels = (v.abs() * 20).long()
    item("bincount 1e8", lambda: labels.bincount())
    item("bernoulli 1e8", lambda: torch.empty_like(v).bernoulli_(0.3))
    item("arange 1e8", lambda: torch.arange(1, 100000001, dtype=torch.float32, device=gpu))
    weights = lines[:, 0].abs().contiguous()
    item("multinomial 1e6 of 1e6", lambda: weights.multinomial(1000000, True))
    del weights, v, m, lines, positive, labels
    logits, odd = torch.randn(8, 131072, device=gpu), torch.randn(100000, 1001, device=gpu)
    item("softmax 8x131072", lambda: logits.softmax(1))
    x = logits.clone().requires_grad_()
    y = x.softmax(1)
    item("softmax backward 8x131072", lambda: torch.autograd.grad(y, x, logits, retain_graph=True))
    y = torch.nn.functional.layer_norm(x, (131072,))
    item("layer_norm backward 8x131072", lambda: torch.autograd.grad(y, x, logits, retain_graph=True))
    del x, y
    item("softmax 100000x1001", lambda: odd.softmax(1))
    scores, labels = torch.randn(100000, 1000, device=gpu), torch.randint(1000, (100000,), device=gpu)
    item("cross_entropy 100000x1000", lambda: torch.nn.functional.cross_entropy(scores, labels))
    long = torch.randn(64, 1000000, device=gpu)
    item("topk(10) 64x1000000", lambda: long.topk(10))
    del logits, odd, scores, labels, long
    shape = (32, 64, 112, 112)
    x, g = torch.randn(shape, device=gpu, requires_grad=True), torch.randn(shape, device=gpu)
    w, b = torch.ones(64, device=gpu, requires_grad=True), torch.zeros(64, device=gpu, requires_grad=True)
    y = torch.nn.functional.group_norm(x, 2, w, b)
    item("group_norm backward 32x64x112x112", lambda: torch.autograd.grad(y, (x, w, b), g, retain_graph=True))
    del x, g, w, b, y
    a = torch.randn(4096, 4096, device=gpu)
    item("eigh 4096", lambda: torch.linalg.eigh(a + a.T))
    del a
    m = torch.randn(10000, 10000, device=gpu)
    half, at = m.half(), torch.randint(10000, (10000, 10000), device=gpu)
    small = (half > 0).byte()
    item("f16 + f32, 10000x10000", lambda: half + m)
    item("x * 2 of the transposed, 10000x10000", lambda: m.T * 2)
    item("transposed copy f16 10000x10000", lambda: half.T.contiguous())
    item("transposed copy u8 10000x10000", lambda: small.T.contiguous())
    mask = half > 0
    item("add u8 10000x10000", lambda: small + small)
    item("lt(3) of u8 10000x10000", lambda: small.lt(3))
    item("~ of bool 10000x10000", lambda: ~mask)
    item("gather 10000x10000", lambda: m.gather(0, at))
    item("var 10000x10000, dim 2", lambda: m.var(1))


def peers_of_libraries():
    a, b = (torch.randn(10000, 8, 8, device=gpu) for _ in range(2))
    item("eigh 10000x8x8", lambda: torch.linalg.eigh(a))
    item("qr 10000x8x8", lambda: torch.linalg.qr(a))
    item("solve 10000x8x8", lambda: torch.linalg.solve(a, b))
    layer, x = torch.nn.LSTM(1024, 1024).bfloat16().to(gpu), torch.randn(50, 50, 1024, device=gpu).bfloat16()
    with torch.no_grad():
        item("lstm bf16 50x50x1024", lambda: layer(x))
        deep = torch.nn.LSTM(1024, 1024, 2, dropout=0.5).bfloat16().to(gpu)
        item("lstm bf16 50x50x1024, 2 layers, dropout", lambda: deep(x))
        image, kernel = torch.randn(128, 64, 56, 56, device=gpu).bfloat16(), torch.randn(64, 64, 3, 3, device=gpu).bfloat16()
        item("conv2d bf16 64 to 64, 128x56x56", lambda: torch.nn.functional.conv2d(image, kernel, None, 1, 1))
    attention = torch.nn.functional.scaled_dot_product_attention
    q = torch.randn(8, 16, 4096, 64, device=gpu).bfloat16()
    item("attention bf16 8x16x4096x64", lambda: attention(q, q, q))
    y = q.clone().requires_grad_()
    item("attention bf16 8x16x4096x64, causal, backward",
         lambda: torch.autograd.grad(attention(y, y, y, is_causal=True), y, q))
    host = torch.randn(100000000)
    item("to the device 1e8", lambda: host.to(gpu))


peers_of_odd_shapes()
torch.cuda.empty_cache()
peers_of_libraries()
torch.cuda.empty_cache()
for stage in ("baseline", "ignore_index"):
    item(f"masked loss, batch 256, {stage}", masked.step(stage, device=gpu, batch=256))
    torch.cuda.empty_cache()
