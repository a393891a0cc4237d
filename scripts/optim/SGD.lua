--!plain
-- optim.SGD: stochastic gradient descent, with momentum.
local gpush, optim = ...

return optim.define {
    name = "SGD",
    defaults = { lr = 0.001, momentum = 0, dampening = 0, weight_decay = 0, nesterov = false, maximize = false },
    check = function(o, fail)
        optim.check_positive(o, fail, "lr", "momentum", "weight_decay")
        if o.nesterov and (o.momentum == 0 or o.dampening ~= 0) then fail "nesterov wants a momentum and no dampening" end
    end,
    slots = function(o) return o.momentum ~= 0 and { "momentum_buffer" } or {} end,
    -- A buffer begins as the first gradient, which dampening does not touch.
    key = function(o, state) return o.momentum ~= 0 and not state.momentum_buffer end,
    launch = function(o, l, first)
        gpush.sgd_step(l.params, l.grads, l.momentum_buffer, o.lr, o.momentum, o.dampening, o.weight_decay, o.nesterov,
            first, o.maximize)
    end,
}
