"""PyTorch's side of steps.lua: the same models, in the same lines. python3 steps.py [cpu] [small]."""
import sys

import torch
import torch.nn.functional as F
from torch import nn

from measure import failed, forget, gpu, report, rounds, wait

small = "small" in sys.argv[1:]


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        after = 4 * width
        self.main = nn.Sequential(nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after))
        self.shortcut = None
        if stride > 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.main(x) + (self.shortcut(x) if self.shortcut else x))


def resnet(blocks, width):
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage, count in enumerate(blocks):
        for i in range(count):
            layers.append(Bottleneck(before, width << stage, 2 if stage and not i else 1))
            before = 4 * (width << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.between(x))


class GPT(nn.Module):
    def __init__(self, words, length, width, heads, layers):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        return F.linear(self.norm(self.blocks(y)), self.tokens.weight)


def item(name, dtype, model, opt, x, labels):
    def step():
        opt.zero_grad()
        with torch.autocast(gpu.type, torch.bfloat16, enabled=dtype == "bf16"):
            y = model(x)
            y = F.cross_entropy(y.view(-1, y.shape[-1]), labels.reshape(-1))
        y.backward()
        opt.step()
    try:
        for _ in range(3):
            step()
        wait()
        report(name, rounds(step, 0 if small else 0.2, 1 if small else 5))
    except Exception as e:
        failed(name, e)


for dtype in "f32", "bf16":
    model = (resnet((1, 1), 2) if small else resnet((3, 4, 6, 3), 64)).to(gpu)
    opt, side = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), 16 if small else 224
    for batch in (2,) if small else (16, 64):
        item(f"ResNet-50, {dtype}, batch {batch}", dtype, model, opt, torch.randn(batch, 3, side, side, device=gpu),
             torch.randint(0, 1000, (batch,), device=gpu))
    del model, opt
    forget()
    words, length = (50, 8) if small else (50257, 256)
    model = (GPT(words, length, 16, 2, 1) if small else GPT(words, length, 768, 12, 12)).to(gpu)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for batch in (2,) if small else (16, 64):
        text = torch.randint(0, words, (batch, length), device=gpu)
        item(f"GPT-2 small, {dtype}, batch {batch}", dtype, model, opt, text, text.roll(-1, 1))
    del model, opt
    forget()
