-- For tests/bindings/audit_surface.lua: calls that functions, classes and methods accept although
-- they look like a mistake, and why that is right. See A.judge in audit.lua. parts: errors that
-- name the part of the object that refuses.
local function set(...)
    local s = {}
    for _, v in ipairs { ... } do s[v] = true end
    return s
end
local numbers = set("0/0", "math.huge", "-math.huge", "0", "-1", "2", "true")
local counts = set("0", "2.0", "99", "math.maxinteger")

local rules = {
    { nil, what = "wrong", value = set "{}",
        why = "an empty table that comes last is one of options, without any" },
    { nil, type = "any", value = set "{}", why = "the same" },
    { nil, type = "int dim", value = set "2.0", why = "2.0 is an integer" },
    { nil, type = "rest", why = "a function is called with any arguments" },
    { "[%w._]+ stream:use", what = "option",
        why = "a table is an argument of the function that is called" },
    { "nn.%u%w+", type = "float number", value = numbers,
        why = "the layer was called, and its op took it: see audit/rules.lua" },
    { "nn.%u%w+", type = "ints padding", why = "the same" },
    { "nn.%u%w+", type = "int", value = counts,
        why = "a count, as the layer's parameters have it" },
    { "nn.%u%w+", type = "int", param = "dim start_dim end_dim padding_idx", value = set "-1",
        why = "negative dims and indices count from the end" },
    { "nn.%u%w+", type = "int", param = "ignore_index divisor_override",
        why = "any number, as the op's" },
    { "nn.TransformerEncoder", param = "make norm",
        why = "what makes a layer is called; the layers are when the model is" },
    { "nn.init.[%w_]+", type = "float number", value = numbers,
        why = "bounds and factors of random numbers: what is impossible raises" },
    { "optim.[%w._]+ nn.utils.[%w_]+", type = "float number any", value = numbers,
        why = "rates and factors are any numbers that PyTorch takes" },
    { "optim.lr.%w+", type = "int", why = "steps: what is impossible raises" },
    { "optim.%w+ optim.clip_[%w_]+ nn.utils.[%w_]+", param = "params",
        why = "a tensor, an iterator or a list of parameters" },
    { "optim.lr.MultiplicativeLR", param = "lr_lambda",
        why = "a function, which is called at the first step" },
    { "optim.lr.%w+", type = "any", param = "base_lr max_lr",
        why = "a number, or a list of one for each group" },
    { "autograd.%w+", param = "inputs outputs eps atol rtol",
        why = "a tensor or a list; tolerances are any numbers" },
    { "data.transforms.%w+", type = "float any",
        why = "the transform was applied: its op took it" },
    { "image.load", param = "channels", value = set "0", why = "0: those of the file" },
    { "image.load npz.load", type = "int", param = "max_pixels max_bytes",
        value = set("99", "math.maxinteger"), why = "a limit: any size from 1" },
    { "npy.save image.save module:register_%w+",
        what = "bool i64 f64 device column row short scalar empty",
        why = "any tensor may be kept" },
    { "module:to", type = "any", value = set "f(2)", why = "its dtype and device" },
    { "g.timeit g.compare", param = "n", value = set("99", "2.0"), why = "a number of calls" },
    { "g.manual_seed", param = "seed", why = "a seed is any integer" },
    { "g.threads g.printoptions profile.%w+", type = "int", why = "a count" },
    { "profile:key_averages", param = "group_by_stack_n", value = set "0", why = "no stacks" },
    { "profile:whatif", param = "host", value = set("0", "2"),
        why = "a factor from 0 on" },
    { "profile.start profile.schedule", type = "any", param = "stack", value = set "true",
        why = "all frames; or a number of them" },
    { "profile.run profile.schedule", what = "wrong", type = "table", value = set "print",
        why = "options may be left out: this is the function" },
    { "amp.GradScaler", type = "float", value = set "2", why = "a scale, or a factor above 1" },
    { "amp.GradScaler", param = "growth_interval", value = set "99", why = "a number of steps" },
    { "gradscaler:update", param = "new_scale", value = set "1.5", why = "any scale above 0" },
    { "dist.init", param = "timeout", value = set "2", why = "seconds" },
    { "profile:critical_path", param = "rank", value = set "0", why = "the only rank" },
    { "dist.[%w_]+", param = "root", value = set "0", why = "the only rank" },
    { "checkpoint.load", what = "wrong", type = "table", value = set "true",
        why = "objects may be left out: this is the option after them" },
}
rules.parts = {
    { "^profile", "profile[%.%w]*: stack: expected true, false or", "it names the option" },
    { "^profile", "profile[%.%w]*: %w+: expected a number of", "it names the option" },
    { "^autograd%.grad", "gradcheck: ", "gradgradcheck is a gradcheck, which says what it found" },
    { "^data%.transforms%.", "pad: ", "the op that pads" },
    { "^data%.transforms%.Normalize", "sub: ", "the op that subtracts" },
    { "^data%.transforms%.Normalize", "div: ", "the op that divides" },
    { "^nn%.TransformerEncoderLayer", "nn%.[DM]", "its dropout, its attention" },
    { "^nn%.summary", "Linear: ", "the model was called with the inputs" },
    { "^module:register_parameter", "requires_grad: ", "a parameter requires gradients" },
    { "^optim%.", "group 1 has no parameters", "the function gave none" },
}
return rules
