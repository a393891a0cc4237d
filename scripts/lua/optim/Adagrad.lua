--!plain
-- optim.Adagrad: the gradient divided by the root of the sum of all its squares so far.
local require = ...
local gpush, optim = require "gpush", require "optim"

return optim.define {
    name = "Adagrad",
    help = "the gradient divided by the root of the sum of its squares so far; params as of \z
        optim.SGD",
    sig = "float lr=0.01, float lr_decay=0, float weight_decay=0, float \z
        initial_accumulator_value=0, float eps=1e-10, "
        .. "bool maximize=false",
    check = function(o, fail)
        optim.check_positive(o, fail, "lr", "lr_decay", "weight_decay", "initial_accumulator_value",
            "eps")
    end,
    slots = function() return { "sum" } end,
    fresh = function(o, _, p) return gpush.full_like(p, o.initial_accumulator_value) end,
    fused = true,
    launch = function(o, l, step)
        gpush.adagrad_step(l.params, l.grads, l.sum, step, o.lr, o.lr_decay, o.eps, o.weight_decay,
            o.maximize, l.rounded, l.steps, l.grad_scale, l.found_inf)
    end,
}
