--!plain
-- optim.RMSprop: the gradient divided by the root of the average of its square.
local require = ...
local gpush, optim = require "gpush", require "optim"

return optim.define {
    name = "RMSprop",
    help = "the gradient divided by the root of its squares' average; params as of optim.SGD",
    sig = "float lr=0.01, float alpha=0.99, float eps=1e-8, float weight_decay=0, float \z
        momentum=0, "
        .. "bool centered=false, bool maximize=false",
    check = function(o, fail)
        optim.check_positive(o, fail, "lr", "alpha", "eps", "weight_decay", "momentum")
    end,
    slots = function(o)
        local slots = { "square_avg" }
        if o.centered then slots[#slots + 1] = "grad_avg" end
        if o.momentum ~= 0 then slots[#slots + 1] = "momentum_buffer" end
        return slots
    end,
    key = function() return false end,
    fused = true,
    launch = function(o, l)
        gpush.rmsprop_step(l.params, l.grads, l.square_avg, l.grad_avg, l.momentum_buffer, o.lr,
            o.alpha, o.eps,
            o.weight_decay, o.momentum, o.maximize, l.rounded, l.steps, l.grad_scale, l.found_inf)
    end,
}
