"""Calls of PyTorch as text for gpush: dims and indices count from 1 there, and the rest is said in
Lua. What a parameter means comes from gpush's signature; tables below name what that cannot say."""
import math

import numpy
import torch

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16",
          torch.float16: "f16", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
          torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}

# Names of PyTorch that are others in gpush; None: not compared.
NAMES = {"true_divide": "div", "special.polygamma": "polygamma", "pinverse": "linalg.pinv",
         "svd": "linalg.svd", "__getitem__": None, "normal": None, "bernoulli": None,
         "poisson": None, "multinomial": None, "uniform": None,
         "nn.functional.dropout": None, "empty": None,
         "empty_like": None, "new_empty": None, "randn": None, "rand_like": None,
         "randn_like": None, "randint": None, "randint_like": None, "arange": None,
         "nn.functional.alpha_dropout": None, "dropout": None, "feature_alpha_dropout": None,
         "alpha_dropout": None, "gumbel_softmax": None, "nn.functional.feature_alpha_dropout": None,
         "nn.functional.multi_head_attention_forward": None, "nn.functional.unfold": None}

# Parameters that hold places: integers there, and the elements of integer tensors, count from 1.
PLACES = {"index", "indices", "start", "offset", "source", "destination", "padding_idx",
          "sorter", "dim", "dims", "dim0", "dim1", "dim2", "first", "last", "ignore_index",
          "start_dim", "end_dim", "storage_offset"}
NOT_PLACES = {"diagonal.offset", "diag_embed.offset", "diagflat.offset", "tile.dims",
              "repeat.dims", "tril_indices.offset", "triu_indices.offset", "range.first",
              "range.last", "linspace.first", "linspace.last", "logspace.first",
              "logspace.last", "index_add.source", "index_copy.source", "masked_scatter.source",
              "tensordot.dims"}
ALSO_PLACES = {"one_hot.x", "embedding.index", "embedding_bag.input", "embedding_bag.offsets",
               "cross_entropy.target", "nll_loss.target", "multi_margin_loss.target",
               "multilabel_margin_loss.target", "bincount.x", "ctc_loss.targets", "ctc_loss.blank"}

def name_of(name):
    """gpush's name of an op of PyTorch; None for those that cannot be compared, such as random
    numbers."""
    if name in NAMES:
        return NAMES[name]
    return name.removeprefix("nn.functional.").removeprefix("special.")


# Arguments of PyTorch that say how a result is computed, or in which form, not which it is.
SILENT = {("cdist", 3), ("cdist", "compute_mode"), ("stft", "return_complex"),
          ("stft", "align_to_window"), ("linalg.svd", "driver")}
KEYWORDS = {"end", "repeat"}


class Parameters:
    """A function's parameters by position and by name: (name, type)."""

    def __init__(self, text, indices):
        """indices: the first of its results that are indices, counted from 1; 0: none is."""
        asked = "return_indices" in text
        self.first_place = indices - 1 if indices else 1 if asked else None
        self.list = []
        for part in filter(None, (p.strip() for p in text.split(","))):
            kind, name = part.split("=")[0].split()
            self.list.append((name, kind.rstrip("?!")))
        self.by_name = {name: (name, kind) for name, kind in self.list}

    def at(self, position):
        return self.list[position] if position < len(self.list) else ("", "any")

    def named(self, name):
        if name in self.by_name:
            return self.by_name[name]
        if name in ("dim", "axis", "dims"):
            return (name, "dims")
        return (name, "any")


class Call:
    """The Lua text of a call, and the tensors that it reads as T[1], T[2] …"""

    def __init__(self, name, parameters, args, kwargs):
        self.name, self.tensors, self.first_place = name, [], parameters.first_place
        if parameters.at(0)[1] == "tensors" and args and isinstance(args[0], torch.Tensor):
            args = [list(args)]
        said = [self.value(v, *parameters.at(i)) for i, v in enumerate(args)
                if (name, i) not in SILENT]
        options = [f"{key(k)} = {self.value(v, *parameters.named(k))}" for k, v in kwargs.items()
                   if v is not None and (name, k) not in SILENT]
        if options:
            said.append("{" + ", ".join(options) + "}")
        called = f'_ENV["{name}"]' if name in KEYWORDS else name
        self.arguments = ", ".join(said)
        self.text = f"{called}({self.arguments})"

    def is_place(self, parameter, kind):
        """Whether integers given for the parameter are dims or indices, which count from 1."""
        full = f"{self.name}.{parameter}"
        if kind in ("dim", "dims") or full in ALSO_PLACES:
            return True
        return parameter in PLACES and full not in NOT_PLACES and kind != "shape"

    def value(self, v, parameter, kind):
        place = self.is_place(parameter, kind)
        if isinstance(v, torch.Tensor):
            if v.dtype.is_complex:
                raise TypeError("complex numbers have no dtype in gpush")
            numbers = v.dtype.is_floating_point or v.dtype == torch.bool
            if place and kind != "operand" and not numbers:
                v = torch.where(v >= 0, v + 1, v)
            self.tensors.append(v)
            return f"T[{len(self.tensors)}]"
        if isinstance(v, (list, tuple, torch.Size)):
            if None in [i for i in v if not isinstance(i, torch.Tensor)]:
                raise TypeError("None in a list has no form in Lua")
            if self.name == "tensordot":  # a number says how many dims, lists say which
                parameter = "dim"
            return "{" + ", ".join(self.value(i, parameter, kind) for i in v) + "}"
        if v is None:
            return "nil"
        if isinstance(v, bool):
            return str(v).lower()
        if isinstance(v, int):
            return str(v + 1 if place and v >= 0 else v)
        if isinstance(v, float):
            return number(v)
        if isinstance(v, str):
            return '"' + v + '"'
        if isinstance(v, torch.dtype) and v in DTYPES:
            return '"' + DTYPES[v] + '"'
        if isinstance(v, numpy.generic):
            return self.value(v.item(), parameter, kind)
        raise TypeError(f"{type(v).__name__} has no form in Lua")


def key(name):
    return f'["{name}"]' if name in KEYWORDS else name


def number(v):
    if math.isnan(v):
        return "0/0"
    if math.isinf(v):
        return "1/0" if v > 0 else "-1/0"
    return repr(v)


def results(call, value, kwargs):
    """A call's results as a list of tensors, places counted from 1, complex numbers as pairs."""
    flat = []
    flatten(value, flat)
    first = call.first_place
    if call.name.startswith("unique") and kwargs.get("return_inverse"):
        flat[1] = flat[1] + 1
    for i, y in enumerate(flat):
        if first is not None and i >= first and y.dtype in (torch.int64, torch.int32):
            flat[i] = y + 1
    return flat


def flatten(value, out):
    if isinstance(value, torch.Tensor):
        out.append(torch.view_as_real(value) if value.dtype.is_complex else value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            flatten(item, out)
    elif value is not None:
        out.append(torch.tensor(value))
