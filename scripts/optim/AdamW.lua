--!plain
-- optim.AdamW: Adam whose weight decay shrinks the parameters and stays out of the averages.
local gpush, optim = ...

return optim.define {
    name = "AdamW",
    help = "Adam with decoupled weight decay; params as of optim.SGD",
    sig = "float lr=0.001, any? betas, float eps=1e-8, float weight_decay=0.01, bool amsgrad=false, "
        .. "bool maximize=false",
    fill = function(o) o.betas = o.betas or { 0.9, 0.999 } end,
    check = function(o, fail)
        optim.check_positive(o, fail, "lr", "eps", "weight_decay")
        optim.check_betas(o.betas, fail)
    end,
    slots = function(o) return { "exp_avg", "exp_avg_sq", o.amsgrad and "max_exp_avg_sq" or nil } end,
    launch = function(o, l, step)
        gpush.adam_step(l.params, l.grads, l.exp_avg, l.exp_avg_sq, l.max_exp_avg_sq, step, o.lr, o.betas[1],
            o.betas[2], o.eps, o.weight_decay, true, o.maximize)
    end,
}
