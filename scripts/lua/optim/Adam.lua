--!plain
-- optim.Adam: averages of the gradient and of its square; weight decay is part of the gradient.
-- optim.AdamW: weight decay shrinks the parameters and stays out of the averages.
local require = ...
local gpush, optim = require "gpush", require "optim"

local function adam(name, help, weight_decay, decoupled)
    optim[name] = optim.define {
        name = name, help = help .. "; params as of optim.SGD",
        sig = "float lr=0.001, numbers? betas, float eps=1e-8, float weight_decay=" ..
            weight_decay .. ", bool amsgrad=false, bool maximize=false",
        fill = function(o) o.betas = o.betas or { 0.9, 0.999 } end,
        check = function(o, fail)
            optim.check_positive(o, fail, "lr", "eps", "weight_decay")
            optim.check_betas(o.betas, fail)
        end,
        slots = function(o)
            return { "exp_avg", "exp_avg_sq", o.amsgrad and "max_exp_avg_sq" or nil }
        end,
        fused = true,
        launch = function(o, l, step)
            gpush.adam_step(l.params, l.grads, l.exp_avg, l.exp_avg_sq, l.max_exp_avg_sq, step,
                o.lr, o.betas[1],
                o.betas[2], o.eps, o.weight_decay, decoupled, o.maximize, l.rounded,
                l.steps, l.grad_scale, l.found_inf)
        end,
    }
end

adam("Adam", "Adam: the gradient's average over the root of its square's", 0, false)
adam("AdamW", "Adam with decoupled weight decay", 0.01, true)
