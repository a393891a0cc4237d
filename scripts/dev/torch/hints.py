"""Writes PyTorch's values into tests/support/hints.tsv: for each line of Python the literal that
the hint's code must give. Usage: hints.py FILE, with PyTorch and NumPy; FILE is rewritten.

A row is: the line, what is evaluated instead where the values differ by design (indices count from
1 in gpush) or PyTorch does not take the line as it stands, and the literal, as JSON. A tensor is
its nested list, a tuple a list; what a line prints is a string.
"""
import ast
import contextlib
import io
import json
import sys

import numpy as np
import torch

SETUP = """
import copy, json, math, os, random, sys, tempfile, time
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset
x = torch.arange(12.).reshape(3, 4)
y, w, v = x * 2, torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([3., 1., 2.])
t, m = torch.arange(24).reshape(2, 3, 4), x > 5
idx, lab, one = torch.tensor([0, 2]), torch.tensor([0, 2, 1]), torch.tensor([2.5])
n, k, i, j, e, neg, zero, flag, blank, s, name = 3, 2, 1, 2, 2.5, -1, 0, True, "", "a b", "net"
xs, ys, d, lr, ts = [1, 2, 3], [4, 5, 6], {"k": 1}, 0.1, [torch.tensor(1.), torch.tensor(2.)]
rows, words, lists = [[1, 2], [3, 4]], ["b", "aa", "ccc"], {"a": [1, 2, 3]}
recs = [{"name": "ab", "v": 3}, {"name": "c", "v": 1}]
ds = TensorDataset(x, v)
loader = DataLoader(ds, batch_size=2)
tqdm = iter
sys.argv, txt = ["s.lua", "64", "--cpu"], os.path.join(tempfile.gettempdir(), "hints.txt")
with open(txt, "w") as out:
    out.write("l1\\nl 2\\n")
lens, soft = torch.tensor([3, 2]), torch.tensor([[.1, .2, .3, .4]] * 3)
stoi, itos = {"a": 0, "b": 1}, {0: "a", 1: "b"}
"""


def plain(value):
    """The value as JSON has it."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, (np.floating, np.integer, np.bool_)):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def run(line):
    """What the line prints; else the value of its last expression, or of q."""
    names, tree, last = {}, ast.parse(line), None
    exec(SETUP, names)
    end = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, "line", "exec"), names)
        if end:
            last = eval(compile(ast.Expression(end.value), "line", "eval"), names)
    return out.getvalue() or plain(names.get("q") if last is None else last)


def main(path):
    rows = []
    with open(path, encoding="utf-8") as file:
        for row in file:
            line, instead, _ = (row.rstrip("\n").split("\t") + ["", ""])[:3]
            try:
                rows.append((line, instead, json.dumps(run(instead or line))))
            except Exception as error:  # pylint: disable=broad-except
                sys.exit(f"{instead or line}: {error}")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)


main(sys.argv[1])
