"""PyTorch's side of rows.lua, which has the form of the lines: python3 rows.py FILE [cpu] [small]."""
import re
import sys

import torch
import torch.nn.functional as F

from measure import failed, forget, gpu, item

small = "small" in sys.argv[1:]
least, samples = (0, 1) if small else (0.005, 5)
fixed = {"N": 400 if small else 25000000, "R": 20 if small else 5000, "B": 4 if small else 32, "S": 8 if small else 112, "T": 8 if small else 4096,
         "gpu": gpu, "f32": torch.float32, "bf16": torch.bfloat16, "torch": torch, "F": F,
         "deterministic": torch.use_deterministic_algorithms,
         "leaf": lambda x: x.detach().requires_grad_(),
         "back": lambda y, g, x: torch.autograd.grad(y, x, g, retain_graph=True)}
values = dict(fixed)


def take(name, text):
    if text == "-":
        return
    try:
        code = compile(text, name, "eval")
        if name.startswith("let "):
            values[name.split()[1]] = eval(code, values)
        else:
            item(name, lambda: eval(code, values), least, samples)
    except Exception as e:
        failed(name, e)


for line in open(sys.argv[1]):
    line = line.strip()
    if line == "drop":
        values = dict(fixed)
        forget()
    if not line or line.startswith("#") or line == "drop":
        continue
    fields = re.split(r"\s+\|\s+", line)
    words = fields.pop(0).split()[1:] if line.startswith("each ") else ["-"]
    for dtype in ["f32", "bf16"] if "$" in line else [""]:
        for word in words:
            name, _, text = (f.replace("$", dtype).replace("%", word) for f in fields)
            take(name, text)
