# overhead.lua in PyTorch: rows[name]() gives a function that runs the row n times. As a program,
# python3 overhead.py N [TEXT], the calls where scripts/bench/instructions counts are of getpriority.
import os, sys
import torch


def ten(x, y):
    z = x + y
    z = z * y
    z = z - y
    z = z.abs()
    z = z + 1
    z = z.sqrt()
    z = z.neg()
    z = z.exp()
    z = z * 2
    return z.relu()


def repeat(statement, **names):
    """A function that runs the statement n times."""
    exec(f"def f(n):\n    for _ in range(n): {statement}\n", names)
    return names["f"]


x, y = torch.randn(16), torch.randn(16)


def leaves():
    return {name: torch.randn(16, requires_grad=True) for name in "ab"}


rows = {
    "x + y, 16": lambda: repeat("x + y", x=x, y=y),
    "chain of ten, 16": lambda: repeat("ten(x, y)", x=x, y=y, ten=ten),
    "t[3]": lambda: repeat("x[3]", x=x),
    "nn.Linear(16, 16)(x)": lambda: repeat("layer(x)", x=x, layer=torch.nn.Linear(16, 16)),
    "(x*y):sum():backward(), 16": lambda: repeat("(a * b).sum().backward()", **leaves()),
    "chain of ten and backward, 16": lambda: repeat("ten(a, b).sum().backward()", ten=ten, **leaves()),
}


if __name__ == "__main__":
    torch.set_num_threads(1)
    count, only = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    for name, make in rows.items():
        if only in name:
            run = make()
            for times in range(3):
                run(times * count or 100)
                os.getpriority(os.PRIO_PROCESS, 0)
            print(name)
