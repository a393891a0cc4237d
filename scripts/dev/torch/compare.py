"""Compares gpush with PyTorch: see scripts/dev/against-torch."""
import argparse
import collections
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch

import samples
import translate

HERE = pathlib.Path(__file__).parent
GPUSH = os.environ["GPUSH_BUILD"] + "/gpush"
TOLERANCE = {torch.float64: (1e-9, 1e-12), torch.float32: (1e-3, 1e-4)}  # relative, absolute
SECONDS = 120  # for the calls of one op

Case = collections.namedtuple("Case", "op sample call gradients")
Difference = collections.namedtuple("Difference", "op kind call text")


def signatures():
    """gpush's functions: their parameters by name."""
    out = subprocess.run([GPUSH, HERE / "run.lua", "signatures"], check=True, text=True,
                         capture_output=True).stdout
    return {name: translate.Parameters(sig, int(indices))
            for name, sig, indices in (line.split("\t") for line in out.splitlines())}


def read_accepted():
    """accepted.tsv: op pattern, kind, regular expression for the text, reason."""
    rows = []
    for line in (HERE / "accepted.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            op, kind, text, reason = line.split("\t")
            rows.append((op, kind, re.compile(text), reason))
    return rows


# ---- PyTorch's side ----

def copied(value, leaves):
    """value with tensors of its own, floating ones with gradients, which join leaves in order."""
    if isinstance(value, torch.Tensor):
        x = value.detach().clone()
        if leaves is not None:
            leaves.append(x.requires_grad_() if x.dtype.is_floating_point else x)
        return x
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(copied(v, leaves) for v in value)
    return value


def expected(case, seed):
    """PyTorch's results, weights for them, and the gradients of their weighted sum."""
    leaves = [] if case.gradients else None
    args = [copied(a, leaves) for a in case.sample.args]
    kwargs = {k: copied(v, leaves) for k, v in case.sample.kwargs.items()}
    ys = case.sample.fn(*args, **kwargs)
    if case.sample.after:
        ys = case.sample.after(ys)
    ys = translate.results(case.call, ys, case.sample.kwargs)
    if not case.gradients:
        return ys, [None] * len(ys), []
    random = numpy.random.default_rng(seed)
    weights = [torch.from_numpy(numpy.asarray(random.uniform(0.5, 1.5, tuple(y.shape)))).to(y.dtype)
               if y.requires_grad else None for y in ys]
    terms = [(y * w).sum() for y, w in zip(ys, weights) if w is not None]
    if terms:
        sum(terms).backward()
    return ys, weights, [(x.grad if x.grad is not None else torch.zeros_like(x))
                         if x.requires_grad and terms else None for x in leaves]


# ---- gpush's side ----

def arrays_for(cases, wanted):
    arrays = {"none": numpy.zeros(1)}
    for i, (case, (_, weights, _)) in enumerate(zip(cases, wanted)):
        for k, x in enumerate(case.call.tensors):
            arrays[f"c{i}_x{k + 1}"] = x.detach().contiguous().numpy()
        for k, w in enumerate(weights):
            if w is not None:
                arrays[f"c{i}_w{k + 1}"] = w.numpy()
    return arrays


def run_gpush(cases, wanted, device):
    """Results by name, and errors by case; the second alone where the program died."""
    with tempfile.TemporaryDirectory() as folder:
        numpy.savez(folder + "/in.npz", **arrays_for(cases, wanted))
        with open(folder + "/calls.tsv", "w") as f:
            for i, case in enumerate(cases):
                text = case.sample.lua.replace("CALL", case.call.text).replace(
                    "ARGUMENTS", case.call.arguments)
                text = text.replace("\n", " ")
                f.write(f"{i}\t{int(case.gradients)}\t{text}\n")
        try:
            done = subprocess.run([GPUSH, HERE / "run.lua", folder, device], text=True,
                                  capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return {}, dict.fromkeys(range(len(cases)), f"no end within {SECONDS} s")
        if done.returncode:
            message = f"exit status {done.returncode}: {done.stderr[:300]}"
            return {}, dict.fromkeys(range(len(cases)), message)
        with open(folder + "/errors.tsv") as f:
            errors = {int(i): text for i, text in (line.rstrip("\n").split("\t") for line in f)}
        with numpy.load(folder + "/out.npz") as out:
            return {k: torch.from_numpy(out[k]) for k in out.files}, errors


# ---- the comparison ----

def different(got, want, loose):
    """Where and how two tensors differ; None if they agree. With loose, all that is not finite is
    one value: signs of infinities and NaN depend on the order of a sum there."""
    if tuple(got.shape) != tuple(want.shape):
        return f"shape {tuple(got.shape)}, PyTorch's {tuple(want.shape)}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, PyTorch's {want.dtype}"
    if not want.dtype.is_floating_point:
        wrong = got != want
    else:
        rtol, atol = TOLERANCE.get(want.dtype, (1e-2, 1e-2))
        wrong = ~torch.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
        if loose:
            wrong &= got.isfinite() | want.isfinite()
    if not wrong.any():
        return None
    at = tuple(int(i) for i in wrong.nonzero()[0])
    return (f"{int(wrong.sum())} of {wrong.numel()} elements, first at "
            f"{[i + 1 for i in at]}: {got[at].item():.9g}, PyTorch's {want[at].item():.9g}")


def judge(case, i, wanted, out, errors):
    """The first difference of a case, as (kind, text); None if it agrees."""
    if i in errors:
        return "refused", errors[i]
    ys, _, grads = wanted
    got = []
    while f"c{i}_y{len(got) + 1}" in out:
        got.append(out[f"c{i}_y{len(got) + 1}"])
    if len(got) != len(ys):
        return "results", f"{len(got)}, PyTorch's {len(ys)}"
    for k, (y, want) in enumerate(zip(got, ys)):
        text = different(y, want.detach(), False)
        if text:
            kind = text.split()[0] if text[0] in "sd" else "value"
            return kind, f"result {k + 1}: {text}"
    for k, want in enumerate(grads):
        if want is None:
            continue
        grad = out.get(f"c{i}_g{k + 1}")
        if grad is None:
            return "gradient", f"of T[{k + 1}]: none"
        text = different(grad, want, case.sample.loose)
        if text:
            return "gradient", f"of T[{k + 1}]: {text}"
    return None


def short(x):
    values = x.detach().flatten().tolist()
    text = ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values[:12])
    return f"{tuple(x.shape)} {{{text}{', …' if len(values) > 12 else ''}}}"


def compare(op, cases, device, seed):
    """Differences of an op's cases, and how many were compared and refused by PyTorch."""
    wanted, kept = [], []
    for case in cases:
        try:
            wanted.append(expected(case, seed + len(kept)))
            kept.append(case)
        except Exception:  # PyTorch's refusals are of any class
            pass
    if not kept:
        return [], 0
    out, errors = run_gpush(kept, wanted, device)
    found = []
    for i, case in enumerate(kept):
        bad = judge(case, i, wanted[i], out, errors)
        if bad:
            inputs = "; ".join(f"T[{k + 1}] = {short(x)}" for k, x in
                               enumerate(case.call.tensors))
            found.append(Difference(op, bad[0], case.call.text, f"{bad[1]} | {inputs}"))
    return found, len(kept)


def cases_of(functions, options, totals):
    """The cases to compare by op, in order; what has no translation is counted."""
    by_op = {}
    for op, sample in samples.every(functions, options.own, options.seed):
        if not fnmatch.fnmatch(op, options.only):
            continue
        name = translate.name_of(op)
        if name is None or name not in functions:
            left_out = "not compared: random numbers, memory that is not set, other syntax"
            totals[left_out if name is None else "not in gpush"][op] += 1
            continue
        try:
            call = translate.Call(name, functions[name], sample.args, sample.kwargs)
        except TypeError as e:
            totals[f"not compared: {e}"][op] += 1
            continue
        by_op.setdefault(op, []).append(Case(op, sample, call, not name.endswith("_")))
    return by_op


def explain(accepted, used, d):
    line = f"{d.call}: {d.text}"
    for n, (op, kind, text, reason) in enumerate(accepted):
        if fnmatch.fnmatch(d.op, op) and kind in (d.kind, "*") and text.search(line):
            used.add(n)
            return reason
    return None


def main():
    parser = argparse.ArgumentParser(prog="against-torch")
    parser.add_argument("--device", default="cpu", help="gpush's device: cpu or sim")
    parser.add_argument("--only", default="*", help="ops by their PyTorch name; * and ? stand for "
                        "others")
    parser.add_argument("--own", action="store_true", help="without PyTorch's own samples")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers in samples")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    accepted, used = read_accepted(), set()
    totals = collections.defaultdict(collections.Counter)
    compared = unexplained = 0
    for op, cases in cases_of(signatures(), options, totals).items():
        found, n = compare(op, cases, options.device, options.seed)
        compared += n
        totals["agree"][op] += n - len(found)
        for d in found:
            reason = explain(accepted, used, d)
            if reason:
                totals["accepted: " + reason][op] += 1
            else:
                unexplained += 1
                print(f"{d.op}: {d.kind}: {d.call}: {d.text}", flush=True)
    print(f"PyTorch {torch.__version__}, {options.device}: {compared} cases compared, "
          f"{sum(totals['agree'].values())} agree, {unexplained} differ without a reason")
    for reason, ops in sorted(totals.items()):
        if reason != "agree":
            names = ", ".join(list(ops)[:8]) + (" …" if len(ops) > 8 else "")
            print(f"{sum(ops.values()):6} {reason} ({names})")
    for n, row in enumerate(accepted):
        if n not in used and options.only == "*" and not options.own:
            print("no longer needed in accepted.tsv: " + "\t".join(row[:2]) + "\t" + row[2].pattern)
    sys.exit(unexplained > 0)


main()
