# The peers' side of the benchmark: the items of ops.lua in PyTorch and NumPy, in the same lines.
# python3 peers.py THREADS [TEXT]: only items with TEXT in their names.
import gc, math, os, sys, time

count, only = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
import numpy as np
import torch
from torch.profiler import profile, ProfilerActivity
import overhead
from overhead import repeat, ten

torch.set_num_threads(count)
torch.manual_seed(0)
clock = time.process_time if count == 1 else time.perf_counter
SAMPLES, SAMPLE = 25, 2e-3


def measure(fn, inner=1):
    fn()
    t0 = clock()
    fn()
    once = max(clock() - t0, 1e-6)
    n = max(1, math.ceil(SAMPLE / once))
    samples = 7 if once > 0.05 else SAMPLES
    v = []
    gc.collect()
    gc.disable()
    for _ in range(samples):
        t0 = clock()
        for _ in range(n):
            fn()
        v.append((clock() - t0) / n / inner)
    gc.enable()
    return sorted(v)[samples // 2]


def item(name, fn, inner=1):
    if only in name:
        print(f"{name}\t{measure(fn, inner):.9g}", flush=True)


def overhead_item(name, n):
    """A row of overhead.py, n runs at a time."""
    if only in name:
        run = overhead.rows[name]()
        item(name, lambda: run(n), n)


x, y = torch.randn(16), torch.randn(16)


def profiled():
    n, best = 2000, math.inf
    run = repeat("x + y", x=x, y=y)

    def plain():
        run(n)

    for _ in range(6):
        gc.collect()
        t0 = clock()
        plain()
        t1 = clock()
        with profile(activities=[ProfilerActivity.CPU]) as p:
            plain()
        text = p.key_averages().table(sort_by="cpu_time_total", row_limit=10)
        t2 = clock()
        best = min(best, (t2 - t1) - (t1 - t0))
    return best / n


large, larger = torch.randn(10000000), torch.randn(10000000)
if count == 1:
    for name, n in (("x + y, 16", 1000), ("chain of ten, 16", 100), ("nn.Linear(16, 16)(x)", 1000), ("t[3]", 1000)):
        overhead_item(name, n)
    if only in "profiling an op":
        print(f"profiling an op\t{profiled():.9g}", flush=True)
    item("x + y, 1e7", lambda: large + larger)
item("exp 1e7", lambda: large.exp())
item("x * 2, 1e7", lambda: large * 2)
item("tanh 1e7", lambda: large.tanh())
item("x > 0.5, 1e7", lambda: large > 0.5)
item("rand 1e7", lambda: torch.rand(10000000))
wide = torch.randn(10000000, dtype=torch.float64)
item("f64 to bf16, 1e7", lambda: wide.to(torch.bfloat16))
item("f64 to f16, 1e7", lambda: wide.to(torch.float16))
item("x * 2 beside a copy", lambda: larger.copy_(large))
matrices = torch.randn(8, 128, 128)
array = matrices.numpy()
item("svd 8x128x128", lambda: np.linalg.svd(array))
item("svd 8x128x128 (torch)", lambda: torch.linalg.svd(matrices))
item("svdvals 8x128x128", lambda: np.linalg.svd(array, compute_uv=False))

for units in (256, 1024):
    layer, sequence = torch.nn.LSTM(units, units), torch.rand(50, 50, units)
    with torch.no_grad():
        item(f"lstm 50x50x{units}", lambda: layer(sequence))
for rows, cols in ((1, 1 << 16), (1, 1 << 20), (1000, 1000), (100, 997)):
    signal = torch.randn(rows, cols, dtype=torch.complex64)
    item(f"fft {rows}x{cols}", lambda: torch.fft.fft(signal))
signal = torch.randn(1000, 1024)
item("rfft 1000x1024", lambda: torch.fft.rfft(signal))
for n in (512, 1024):
    m = torch.randn(n, n)
    item(f"matmul f32 {n}", lambda: m @ m)
double = torch.randn(512, 512, dtype=torch.float64)
item("matmul f64 512", lambda: double @ double)
batch = torch.randn(64, 64, 64)
item("bmm 64x64x64", lambda: batch @ batch)
square, sides = torch.randn(512, 512), torch.randn(512, 16)
definite = square @ square.T / 512 + torch.eye(512)
item("eigh 512", lambda: torch.linalg.eigh(definite))
item("qr 512", lambda: torch.linalg.qr(square))
item("inv 512", lambda: torch.linalg.inv(square))
item("solve 512, 16 sides", lambda: torch.linalg.solve(square, sides))
item("cholesky 512", lambda: torch.linalg.cholesky(definite))
eights = torch.randn(1000, 8, 8) + torch.eye(8) * 8
item("inv 1000x8x8", lambda: torch.linalg.inv(eights))
with torch.no_grad():
    small, filters = torch.randn(1, 3, 128, 128), torch.randn(8, 3, 3, 3)
    item("conv2d 3 to 8, 1x128x128", lambda: torch.conv2d(small, filters, None, 1, 1))
    images, ten_filters = torch.randn(8, 10, 256, 256), torch.randn(10, 10, 3, 3)
    item("conv2d 10 to 10, 8x256x256", lambda: torch.conv2d(images, ten_filters, None, 1, 1))
    item("max_pool2d 8x10x256x256", lambda: torch.max_pool2d(images, 2))
    deep, many = torch.randn(8, 64, 56, 56), torch.randn(64, 64, 3, 3)
    item("conv2d 64 to 64, 8x56x56", lambda: torch.conv2d(deep, many, None, 1, 1))
    item("batch_norm 8x10x256x256", lambda: torch.nn.functional.batch_norm(images, None, None, None, None, True))
    labels = torch.randint(0, 10, (8, 256, 256))
    labels[labels == 9] = -1
    cross_entropy = torch.nn.functional.cross_entropy
    item("cross_entropy 8x10x256x256", lambda: cross_entropy(images, labels, ignore_index=-1))
    rows = torch.randn(10000, 1000)
    item("softmax 1e4x1e3", lambda: rows.softmax(1))
    item("layer_norm 1e4x1e3", lambda: torch.nn.functional.layer_norm(rows, (1000,)))
leaves = [t.clone().requires_grad_() for t in (images, ten_filters, torch.zeros(10))]
result = torch.conv2d(*leaves, 1, 1)
upper = torch.randn_like(result)
item("conv2d 10 to 10 backward", lambda: torch.autograd.grad(result, leaves, upper, retain_graph=True))
logits = images.clone().requires_grad_()
item("cross_entropy and gradient", lambda: cross_entropy(logits, labels, ignore_index=-1).backward())
item("randn 1e7", lambda: torch.randn(10000000))

# The loader: the best of 0, 1 and 2 workers for an image, 2 workers for the first batch; wall time.
class Fake(torch.utils.data.Dataset):
    def __len__(self):
        return 1000000

    def __getitem__(self, i):
        return torch.randn([3, 256, 256]), torch.randint(low=-1, high=10, size=[256, 256])


if count == 2:
    best, wall = math.inf, time.perf_counter
    torch.set_num_threads(1)  # as its workers have it
    for workers in (0, 1, 2):
        firsts, each = [], []
        for _ in range(3):
            t0 = wall()
            it = iter(torch.utils.data.DataLoader(Fake(), batch_size=32, shuffle=True, num_workers=workers))
            next(it)
            firsts.append(wall() - t0)
            for _ in range(4):
                next(it)
            t0 = wall()
            for _ in range(10):
                next(it)
            each.append((wall() - t0) / (10 * 32))
            del it
        best = min(best, sorted(each)[1])
    torch.set_num_threads(count)
    print(f"loader, an image\t{best:.9g}\nloader, first batch\t{sorted(firsts)[1]:.9g}", flush=True)

# Adam's two ways, a loop over the parameters and a loop over the operations: the quicker one
# counts.
if only in "Adam, 1e6 in 100":
    parameters = [torch.randn(10000).requires_grad_() for _ in range(100)]
    for p in parameters:
        p.grad = torch.randn(10000)
    best = min(measure(torch.optim.Adam(parameters, foreach=f).step) for f in (False, True))
    print(f"Adam, 1e6 in 100\t{best:.9g}", flush=True)

# Reductions, scans and copies.
large = torch.randn(10000000)
item("sum 1e7", lambda: large.sum())
item("var 1e7", lambda: large.var())
item("norm 1e7", lambda: large.norm())
item("sum 1e4x1e3 over dim 1", lambda: rows.sum(0))
item("amax 1e4x1e3 over dim 2", lambda: rows.amax(1))
item("logsumexp 1e4x1e3 over dim 2", lambda: rows.logsumexp(1))
item("argmax 8x10x256x256, dim 2", lambda: images.argmax(1))
item("cumsum 1e7", lambda: large.cumsum(0))
item("cummax 1e4x1e3 along dim 2", lambda: rows.cummax(1))
item("median 1e4x1e3 over dim 2", lambda: rows.median(1))
item("transposed copy 1e4x1e3", lambda: rows.t().contiguous())
item("roll 1e4x1e3", lambda: rows.roll(3, 1))
item("pad 8x10x256x256, reflect",
     lambda: torch.nn.functional.pad(images, (1, 1, 1, 1), "reflect"))
# Labels, masks and indices.
classes, numbers = torch.randint(-1, 10, (8, 256, 256)), torch.randn(524288)
wide = torch.randint(-2**60, 2**60, (524288,))
item("sort labels", lambda: torch.sort(classes.flatten()))
item("sort random i64", lambda: torch.sort(wide))
item("sort f32", lambda: torch.sort(numbers))
item("unique labels", lambda: torch.unique(classes))
item("unique random i64", lambda: torch.unique(wide))
item("nonzero(labels == 9)", lambda: torch.nonzero(classes == 9))
item("where(labels == 9, -1, labels)", lambda: torch.where(classes == 9, -1, classes))
item("count_nonzero labels", lambda: torch.count_nonzero(classes))
mask = classes != -1
item("labels[mask]", lambda: classes[mask])
item("scores[mask]", lambda: images.permute(0, 2, 3, 1)[mask])
item("scores[mask] as in MaskedLoss",
     lambda: images.permute(0, 2, 3, 1)[mask.unsqueeze(-1).expand(-1, -1, -1, 10)].reshape(-1, 10))
target = classes.clone()


def put(index):
    target[index()] = 9


item("index_put labels", lambda: put(lambda: torch.nonzero(target == 9, as_tuple=True)))
item("masked fill labels", lambda: put(lambda: target == 9))
counts = classes.flatten() + 2
item("bincount labels", lambda: torch.bincount(counts))
item("topk(10) f32", lambda: torch.topk(numbers, 10))
values, places = torch.randn(1000000), torch.randint(0, 1000, (1000000,))
item("scatter_add 1e6 into 1e3", lambda: torch.zeros(1000).scatter_add(0, places, values))

if count == 1:
    overhead_item("(x*y):sum():backward(), 16", 100)
    overhead_item("chain of ten and backward, 16", 100)

# Fused functions: torch.compile.
if count == 1 and (only in "fused" or "fused" in only):
    from torch.nn.functional import dropout, gelu, layer_norm
    larger = torch.randn(10000000)
    torch.relu(large * larger + large)
    t0 = time.process_time()
    chain = torch.compile(lambda a, b: torch.relu(a * b + a))
    chain(large, larger)
    print(f"fused, first call\t{time.process_time() - t0:.9g}", flush=True)
    item("fused relu(x*y+x), 1e7", lambda: chain(large, larger))
    total = torch.compile(lambda a: gelu(a * 2 + 1).sum())
    item("fused gelu(x*2+1):sum(), 1e7", lambda: total(large))
    fused = repeat("short(x, y)", short=torch.compile(ten), x=x, y=y)
    item("fused ten ops, 16", lambda: fused(1000), 1000)
    v, d = torch.randn(4096, 1024, requires_grad=True), torch.randn(4096, 1024)
    w, b = torch.ones(1024, requires_grad=True), torch.zeros(1024, requires_grad=True)
    block = torch.compile(lambda v, w, b: dropout(gelu(layer_norm(v, (1024,), w, b)), 0.1))

    def step_block():
        v.grad = w.grad = b.grad = None
        block(v, w, b).backward(d)

    item("fused layer_norm, gelu, dropout and gradients", step_block)

# Training.
import masked
for stage in ("baseline", "ignore_index"):
    item(f"masked loss, {stage}", masked.step(stage))
