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
-- What gpush adds to Lua's globals beside ops, whose names scripts/dev/lint gives.
read_globals = {
    "alive", "amp", "autocast", "capture", "checkpoint", "clock", "compare", "current_stream",
    "data", "deterministic", "empty_cache", "enable_grad", "fft", "fork", "from_dlpack", "fuse",
    "fuse_compile", "gpush", "grad", "help", "image", "imshow", "is_tensor", "is_terminal",
    "json", "linalg", "manual_seed", "memory", "nn", "no_grad", "npy", "npz", "ops", "optim",
    "plot", "profile", "progress", "reset_peak", "safetensors", "stream", "synchronize",
    "tensor", "threads", "timeit", "to_dlpack", "wait",
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
