--!plain
-- optim.SGD: stochastic gradient descent, with momentum.
local require = ...
local gpush, optim = require "gpush", require "optim"

return optim.define {
    name = "SGD",
    help = "stochastic gradient descent of params: a list of tensors, of groups {params = …, lr = \z
        …}, or a model",
    sig = "float lr=0.001, float momentum=0, float dampening=0, float weight_decay=0, bool \z
        nesterov=false, "
        .. "bool maximize=false",
    check = function(o, fail)
        optim.check_positive(o, fail, "lr", "momentum", "weight_decay")
        if o.nesterov and (o.momentum == 0 or o.dampening ~= 0) then
            fail "nesterov wants a momentum and no dampening"
        end
    end,
    slots = function(o) return o.momentum ~= 0 and { "momentum_buffer" } or {} end,
    -- A buffer begins as the first gradient, which dampening does not affect.
    key = function(o, state) return o.momentum ~= 0 and not state.momentum_buffer end,
    fused = true,
    launch = function(o, l, first)
        gpush.sgd_step(l.params, l.grads, l.momentum_buffer, o.lr, o.momentum, o.dampening,
            o.weight_decay, o.nesterov,
            first, o.maximize, l.rounded, l.steps, l.grad_scale, l.found_inf)
    end,
}
