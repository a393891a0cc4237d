"""The calls that are compared: PyTorch's own samples (op_db) and, below, those of kinds that it
lacks: special numbers, ties, zeros, duplicates, matrices with equal singular values or eigenvalues.
Each is a call of PyTorch; translate.py says it for gpush."""
import itertools
import math

import torch
import torch.nn.functional as F

import optimizers

INF, NAN = math.inf, math.nan


class Sample:
    """fn(*args, **kwargs), and what gpush does instead: in lua, CALL stands for the translated
    call, ARGUMENTS for its arguments. after makes of the results what does not depend on signs and
    bases of vectors. loose: gradients that are not finite count as equal."""

    def __init__(self, fn, args, kwargs=None, lua=None, after=None, loose=False):
        self.fn, self.args, self.kwargs = fn, list(args), kwargs or {}
        self.lua, self.after, self.loose = lua or "CALL", after, loose


def every(functions, own_only, seed):
    """(PyTorch's name, Sample) of all."""
    torch.manual_seed(seed)
    if not own_only:
        yield from from_op_db()
    yield from elementwise(functions)
    yield from optimizers.every(Sample)
    for name, args, kwargs in itertools.chain(choices(), indexing(), layers(), norms(), matrices()):
        yield name, Sample(find(name), args, kwargs, *INVARIANT.get(name, ()))


def find(name):
    """PyTorch's function of a name, which may have dots."""
    for room in (F, torch, torch.special):
        at = room
        for part in name.removeprefix("nn.functional.").split("."):
            at = getattr(at, part, None)
        if callable(at):
            return at
    method = getattr(torch.Tensor, name, None)
    return method and (lambda x, *args, **kwargs: method(x, *args, **kwargs))


# ---- what does not depend on the choice of vectors ----

def of_svd(out):
    u, s, vh = out
    k = s.shape[-1]
    return s, (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]


def of_eigh(out):
    w, v = out
    return w, (v * w.unsqueeze(-2)) @ v.mT


INVARIANT = {
    "linalg.svd": (
        "(function(u, s, v) local k = s.shape[#s.shape] return s, "
        "(u:narrow(-1, 1, k) * s:unsqueeze(-2)):matmul(v:narrow(-2, 1, k)) end)(CALL)",
        of_svd, True),
    "linalg.eigh": (
        "(function(w, v) return w, (v * w:unsqueeze(-2)):matmul(v:transpose(-1, -2)) end)(CALL)",
        of_eigh, True),
    "linalg.qr": (
        "(function(q, r) if q:numel() == 0 then return r end return q:matmul(r) end)(CALL)",
        lambda out: out[0] @ out[1] if out[0].numel() else out[1], True),
    "linalg.lstsq": ("(CALL)", lambda out: out[0], True),
    "linalg.pinv": (None, None, True),
    "linalg.cond": (None, None, True),
    "linalg.det": (None, None, True),
    "linalg.cholesky_ex": (None, None, True),
    "linalg.slogdet": (None, None, True),
}
INVARIANT["svd"] = INVARIANT["linalg.svd"]


# ---- PyTorch's own ----

def from_op_db():
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as e:
        print(f"without PyTorch's own samples: {e}")
        return
    for op in op_db:
        for dtype in (torch.float64, torch.float32, torch.int64, torch.bool):
            if dtype not in op.dtypes:
                continue
            try:
                found = list(op.sample_inputs("cpu", dtype))
            except Exception:  # of any class: samples that need what is not installed
                continue
            for s in found:
                yield op.name, ordered(op, s)


# Ops whose samples have their arguments in an order of their own: theirs by position.
ORDER = {"where": (1, 0, 2), "polygamma": (1, 0), "special.polygamma": (1, 0),
         "nn.functional.embedding": (1, 0), "nn.functional.embedding_bag": (1, 0)}


def ordered(op, s):
    """A sample of op_db as a call of PyTorch's own function."""
    fn, args, kwargs = op.op, [s.input, *s.args], dict(s.kwargs)
    if op.name in ORDER:
        args = [args[i] for i in ORDER[op.name]] + args[len(ORDER[op.name]):]
        fn = find(op.name)
    if op.name == "einsum":
        fn, args = torch.einsum, [args[1], *args[0]]
    if op.name == "svd" and "some" in kwargs:
        fn, kwargs = torch.linalg.svd, {"full_matrices": not kwargs["some"]}
    if op.name == "linalg.pinv" and op.variant_test_name == "singular":
        fn = torch.linalg.pinv
        args = [args[0] @ args[1].mT]
    if op.name in ("var", "std", "var_mean", "std_mean") and args[1:] in ([True], [False]):
        kwargs["unbiased"] = args.pop()
    if op.name == "linalg.eig":
        return Sample(fn, args, kwargs, "(function(a, b) return a, b end)(CALL)",
                      lambda out: (out[0].real, out[0].imag))
    if op.name == "linalg.eigvals":
        return Sample(fn, args, kwargs, None, lambda w: (w.real, w.imag))
    if op.name in ("fft.ifft", "fft.ifft2", "fft.ifftn"):
        kwargs["complex"] = False
        plain, fn = fn, lambda *a, complex, **k: plain(*a, **k)
    return Sample(fn, args, kwargs, *INVARIANT.get(op.name, ()))


# ---- elementwise ----

SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, -3.0, 6.0, -6.0, 20.0,
           -20.0, 20.5, 40.0, -40.0, 100.0, -100.0, 1e-8, -1e-8, 1e-30, -1e-30, 1e-310, 1e9, -1e9,
           3e38, -3e38, 1e300, -1e300, INF, -INF, NAN]
FEW = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 1e-30, 3e38, -3e38, INF, -INF, NAN]
LEAST = [0.0, 1.0, -1.0, 0.5, 2.0, INF, NAN]


def elementwise(functions):
    """Functions of one to three tensors that give one number for each: found by their signatures,
    and by what PyTorch makes of them."""
    for name, parameters in functions.items():
        kinds = [kind for _, kind in parameters.list]
        count = sum(1 for kind in kinds[:3] if kind in ("tensor", "operand"))
        fn = find(name)
        if not fn or not 0 < count <= 3 or "." in name or name.endswith("_"):
            continue
        numbers = [SPECIAL, FEW, LEAST][count - 1]
        grid = torch.tensor(list(itertools.product(numbers, repeat=count)), dtype=torch.float64)
        args = list(grid.T.contiguous())
        for xs in (args, [x.float() for x in args]):
            try:
                y = fn(*(x.clone() for x in xs))
            except Exception:  # of any class: not a function of that number of tensors alone
                continue
            if isinstance(y, torch.Tensor) and y.shape == xs[0].shape:
                yield name, Sample(fn, xs)
    for decimals in (2, -2):
        yield "round", Sample(torch.round, [vector(SPECIAL)], {"decimals": decimals})


# ---- choices: ties and NaN ----

def vector(values):
    return torch.tensor(values, dtype=torch.float64)


TIED = [vector([1, 1, 1, 1]), vector([3, 1, 3, 2, 3]), vector([0, -0.0, 0, 0]),
        vector([[2, 2, 1], [1, 2, 2], [2, 2, 2]]), vector([[1, NAN, 1], [NAN, NAN, 2], [2, 0, 0]]),
        vector([[0, 0, 0], [0, 5, 0], [INF, INF, -INF]]), vector([-INF, -INF]), vector(2)]


def choices():
    for x in TIED:
        for name in ("max", "min", "amax", "amin", "median", "nanmedian", "sum", "prod", "mean",
                     "std", "var", "logsumexp", "nansum", "nanmean", "aminmax", "norm", "argmax",
                     "argmin", "all", "any", "count_nonzero"):
            yield name, [x], {}
        for dim in range(max(x.dim(), 1)):
            for name in ("max", "min", "amax", "amin", "median", "nanmedian", "mode", "sort",
                         "cummax", "cummin", "cumprod", "cumsum", "logcumsumexp", "logsumexp",
                         "softmax", "log_softmax", "std", "var", "prod", "aminmax", "norm",
                         "argsort", "argmax", "diff", "unique_consecutive"):
                if x.dim() or name not in ("diff", "unique_consecutive"):
                    yield name, [x], {"dim": dim}
            size = x.shape[dim] if x.dim() else 1
            yield "topk", [x, min(2, size), dim], {}
            yield "kthvalue", [x, (size + 1) // 2, dim], {}
            yield "sort", [x], {"dim": dim, "stable": True}
            for q in (0.0, 0.3, 0.5, 1.0):
                for way in ("linear", "lower", "higher", "nearest", "midpoint"):
                    yield "quantile", [x, q, dim], {"interpolation": way}
                    yield "nanquantile", [x, q, dim], {"interpolation": way}
        for p in (0.0, 0.5, 1.0, 2.0, 3.0, INF, -INF):
            yield "linalg.vector_norm", [x, p], {}
    for a, b in itertools.product(TIED[:3], repeat=2):
        if a.shape == b.shape:
            for name in ("maximum", "minimum", "fmax", "fmin", "max", "min", "clamp_min",
                         "clamp_max", "dist", "atan2", "hypot", "logaddexp"):
                yield name, [a, b], {}
            yield "clamp", [a, b, b], {}
            yield "where", [a > 1, a, b], {}
    for low, high in ((1.0, 3.0), (0.0, None), (None, 1.0), (2.0, 1.0)):
        yield "clamp", [TIED[1]], {"min": low, "max": high}


# ---- places: duplicates ----

def indexing():
    x, y = vector([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), vector([[1, 2, 3], [10, 20, 30]])
    twice, some = torch.tensor([1, 1]), torch.tensor([[0, 0, 2], [1, 1, 1]])
    value = vector(5)
    for dim in (0, 1):
        source = y if dim == 0 else y.T.contiguous()
        at = some if dim == 1 else some.clamp(max=2)
        yield "index_select", [x, dim, twice], {}
        yield "index_fill", [x, dim, twice, value], {}
        yield "index_fill", [x, dim, torch.tensor([2, 0, 2]), value], {}
        yield "index_add", [x, dim, twice, source], {"alpha": 2}
        yield "gather", [x, dim, at], {}
        yield "take_along_dim", [x, some if dim == 1 else some.T.contiguous()[:, :3], dim], {}
        yield "scatter_add", [x, dim, at, y], {}
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include in (True, False):
                for src in (y, torch.full_like(y, 4.0), torch.zeros_like(y)):
                    yield "scatter_reduce", [x, dim, at, src, reduce], {"include_self": include}
        yield "repeat_interleave", [x, torch.tensor([2, 0, 3]), dim], {}
    # Where a place is written more than once, PyTorch lets any write win: equal values show the
    # gradient of x alone.
    yield "take", [x, torch.tensor([0, 0, 8, -1])], {}
    yield "index_put", [x, [twice, torch.tensor([2, 2])], vector([5, 7]), True], {}
    yield "index_put", [x.detach(), [twice], vector([[5, 6, 7], [7, 6, 5]]), True], {}
    yield "masked_fill", [x, x > 4, value], {}
    yield "masked_scatter", [x, x > 4, vector([1, 2, 3, 4, 5, 6])], {}
    yield "masked_select", [x, x > 4], {}
    yield "embedding", [torch.tensor([[0, 0, 2], [1, 1, 1]]), x], {}
    yield "embedding", [torch.tensor([0, 0, 2, 1]), x], {"padding_idx": 0}
    for mode in ("sum", "mean", "max"):
        yield "embedding_bag", [torch.tensor([[0, 0], [1, 1]]), x], {"mode": mode}
    for offset in (-1, 0, 1):
        yield "diagonal", [x, offset], {}
        yield "diag", [x, offset], {}
    yield "as_strided", [x.flatten(), (3, 3), (1, 1), 0], {}
    yield "expand", [vector([[1], [2]]), (2, 3)], {}
    yield "unfold", [x.flatten(), 0, 4, 1], {}


# ---- layers and losses at their corners ----

CORNERS = vector([0, 0, 1, -1, 1, 2, -2, 0.5])
TARGETS = vector([0, 1, 1, 1, -1, 1, -2, 1.5])


def layers():
    for slope in (vector([0.25]), vector([-0.5]), vector([0.0])):
        yield "prelu", [vector([0, -0.0, 1, -1]), slope], {}
    yield "prelu", [vector([[0, -1], [0, 2]]), vector([0.25, 0.5])], {}
    for way in ("none", "sum", "mean"):
        for name in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
                     "hinge_embedding_loss", "poisson_nll_loss"):
            yield name, [CORNERS, TARGETS], {"reduction": way}
        yield "smooth_l1_loss", [CORNERS, TARGETS], {"reduction": way, "beta": 0.0}
        yield "margin_ranking_loss", [CORNERS, TARGETS, CORNERS.sign()], {"reduction": way}
        for p in (vector([0, 1, 0.5, 0, 1]), vector([1e-30, 1 - 1e-16, 0.25, 1, 0])):
            yield "binary_cross_entropy", [p, vector([0, 1, 0.25, 1, 0])], {"reduction": way}
        yield "kl_div", [vector([-1, 0, -INF]), vector([0, 0.5, 0])], {"reduction": way}
        yield "gaussian_nll_loss", [CORNERS, TARGETS, CORNERS.abs()], {"reduction": way}
        yield "binary_cross_entropy_with_logits", [
            vector([0, 100, -100, 1000, -1000]), vector([0, 1, 0, 1, 1])], {"reduction": way}
    flat, images = torch.ones(1, 1, 4, dtype=torch.float64), vector([[[
        [1, 1, 2, 2], [1, 1, 2, 2], [0, 0, NAN, 1], [0, 0, 1, INF]]]])
    for kwargs in ({}, {"stride": 1}, {"padding": 1}, {"ceil_mode": True, "stride": 3}):
        yield "max_pool1d", [flat, 2], kwargs
        yield "max_pool2d", [images, 2], kwargs
        yield "max_pool3d", [images.unsqueeze(0), (1, 2, 2)], kwargs
        yield "avg_pool2d", [images, 2], kwargs
    yield "adaptive_max_pool1d", [flat, 3], {}
    yield "adaptive_max_pool2d", [images, 3], {}
    for x in (vector([[INF, 1, INF], [-INF, -INF, -INF], [NAN, 0, 1], [0, 0, 0]]),):
        for name in ("softmax", "log_softmax", "softmin", "logsumexp"):
            yield name, [x, 1], {}
    same = torch.full((2, 3, 4), 2.0, dtype=torch.float64)
    yield "layer_norm", [same, (4,)], {}
    yield "rms_norm", [torch.zeros_like(same), (4,)], {}
    yield "group_norm", [same, 3], {}
    yield "instance_norm", [same], {}
    yield "local_response_norm", [torch.zeros_like(same), 2], {}


# ---- norms and distances of nothing ----

def norms():
    zero, x = torch.zeros(2, 3, dtype=torch.float64), vector([[0, 0, 0], [1, 1, -2]])
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF):
        for a in (zero, x):
            yield "norm", [a, p, 1], {}
            yield "cdist", [a, zero], {"p": p}
            yield "cdist", [a, x], {"p": p}
            yield "dist", [a, zero, p], {}
            yield "dist", [a, x, p], {}
            yield "pairwise_distance", [a, x], {"p": p, "eps": 0.0}
            yield "normalize", [a], {"p": p, "dim": 1}
    for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF):
        yield "linalg.matrix_norm", [x, p], {}
        yield "linalg.matrix_norm", [zero, p], {}
        yield "linalg.matrix_norm", [torch.eye(3, dtype=torch.float64), p], {}
    yield "cosine_similarity", [zero, x, 1], {}
    yield "cosine_embedding_loss", [zero, x, vector([1, -1])], {}
    yield "triplet_margin_loss", [x, x, x], {}
    yield "std", [x], {"dim": 1}
    yield "std", [zero], {"dim": 1}
    for name in ("cov", "corrcoef"):
        yield name, [x], {}
        yield name, [vector([[1, 2, 4], [2, 4, 8]])], {}
    yield "atan2", [zero, zero], {}
    yield "xlogy", [zero, zero], {}


# ---- matrices: equal singular values and eigenvalues, zeros, more columns than rows ----

def turned(values, rows, cols):
    """A matrix of these singular values."""
    generator = torch.Generator().manual_seed(rows * 10 + cols)
    q, _ = torch.linalg.qr(torch.randn(rows, rows, dtype=torch.float64, generator=generator))
    p, _ = torch.linalg.qr(torch.randn(cols, cols, dtype=torch.float64, generator=generator))
    k = len(values)
    return q[:, :k] @ torch.diag(vector(values)) @ p[:, :k].T


MATRICES = [torch.eye(3, dtype=torch.float64), 2 * torch.eye(2, 3, dtype=torch.float64),
            2 * torch.eye(3, 2, dtype=torch.float64), vector([[0, 1], [1, 0]]),
            vector([[1, 0], [0, -1]]), torch.zeros(2, 2, dtype=torch.float64),
            torch.ones(3, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64),
            turned([3, 2, 1], 3, 3), turned([3, 2], 2, 4), turned([3, 2], 4, 2),
            turned([3, 2, 0], 3, 3), turned([3, 0], 2, 4), turned([1, 0, 0], 4, 3),
            torch.diag(vector([1, 1, 2])),
            torch.stack([torch.eye(2, dtype=torch.float64), vector([[1, 2], [3, 4]])])]


def matrices():
    for x in MATRICES:
        rank = torch.linalg.matrix_rank(x)
        full = bool((rank == min(x.shape[-2:])).all())
        for name in ("linalg.svdvals", "linalg.pinv", "linalg.matrix_rank", "linalg.vector_norm"):
            yield name, [x], {}
        for all_vectors in (True, False):
            yield "linalg.svd", [x], {"full_matrices": all_vectors}
        if full:
            yield "linalg.qr", [x], {}
            yield "linalg.cond", [x], {}
        if x.shape[-1] == x.shape[-2]:
            yield from squares(x, full)


def squares(x, full):
    symmetric = x + x.mT
    for name in ("linalg.eigvalsh", "linalg.eigh"):
        yield name, [symmetric], {}
    yield "linalg.pinv", [symmetric], {"hermitian": True}
    yield "linalg.cholesky", [symmetric @ symmetric + torch.eye(x.shape[-1])], {}
    yield "linalg.cholesky_ex", [x], {}
    yield "linalg.det", [x], {}
    if full:
        for name in ("linalg.slogdet", "logdet", "linalg.inv", "linalg.lu_factor"):
            yield name, [x], {}
        yield "linalg.solve", [x, torch.ones(x.shape[:-1], dtype=torch.float64)], {}
    for n in (0, 1, 3) + (-1,) * full:
        yield "linalg.matrix_power", [x, n], {}
