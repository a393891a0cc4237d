-- What luacheck looks for in gpush's Lua (scripts/dev/lint runs it): names that are no global of
-- Lua's or gpush's, and variables and values that nothing reads.
std = "lua54"
max_line_length = false -- 100 columns are a matter of .editorconfig
ignore = {
    "211/%l", -- local z = x + y: what is timed or watched, and not used
    "212", "213", -- arguments and counters that a function or a loop gets anyway
    "4", -- x, y and n come again in inner functions, as in mathematics
    "512", -- for x in loader() do … break end: the first of many
    "542", -- an empty branch says why it is empty
    "581", -- not (a >= b) is not a < b where one is NaN
}
-- What gpush adds to Lua's globals, as far as Lua files use it.
read_globals = {
    "adaptive_avg_pool2d", "alive", "amp", "arange", "attention", "autocast", "avg_pool2d",
    "batch_norm", "capture", "cat", "checkpoint", "clock", "compare", "conv2d", "conv_input_grad",
    "conv_weight_grad", "cross_entropy", "cross_entropy_grad", "current_stream", "data",
    "deterministic", "dist", "empty", "empty_cache", "enable_grad", "equal", "eye", "fft", "fork", "full", "fuse", "fuse_compile",
    "gelu", "gpush", "grad", "group_norm", "help", "image", "imshow", "interpolate", "is_tensor",
    "is_terminal", "json", "layer_norm", "linalg", "linspace", "lstm", "lstm_backward",
    "lstm_forward", "lt", "manual_seed", "max_pool2d", "memory", "meshgrid", "nn", "no_grad",
    "nonzero", "npy", "npz", "ones", "ops", "optim", "plot", "pow", "profile", "progress", "rand",
    "rand_like", "randint", "randn", "randperm", "range", "relu", "reset_peak", "rms_norm",
    "safetensors", "scaled_dot_product_attention", "searchsorted", "stack", "stream", "sum", "synchronize",
    "tensor", "threads", "timeit", "unique", "wait", "where", "zeros", "zeros_like",
}
globals = { "cuda", "sim", "sync" } -- have settings: sync.mode = "error"
exclude_files = { "tests/bindings/syntax.lua" } -- a @ b is tensor syntax

files["scripts/lua/shell/commands.lua"] = { globals = { "arg" } } -- :run's
files["tests"] = { ignore = {
    "22", "23", "24", "31", -- handles that are kept for a while, and let go
} }
-- Tests of what becomes of globals.
files["tests/bindings/dotted.lua"] = { allow_defined_top = true, ignore = { "112", "131" } }
files["tests/bindings/loader.lua"] = {
    allow_defined_top = true, globals = { "print" }, ignore = { "131" }
}
files["tests/scripts/help.lua"] = {
    allow_defined_top = true, globals = { "print" }, ignore = { "131" }
}
files["tests/scripts/names.lua"] = {
    allow_defined_top = true, globals = { "stream" }, ignore = { "131" }
}
files["tests/scripts/nn_module.lua"] = { globals = { "print" } }
files["tests/bindings/lists.lua"] = { ignore = { "321" } } -- local a, d = x.shape gives two values
