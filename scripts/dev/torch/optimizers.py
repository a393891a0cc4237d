"""Steps of every optimizer, and learning rates of every schedule, in f64."""
import torch

# Options as both name them.
OPTIMIZERS = {
    "SGD": ({"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
            {"lr": 0.1, "momentum": 0.7, "dampening": 0.3, "maximize": True}),
    "Adam": ({}, {"lr": 0.1, "betas": (0.7, 0.9), "weight_decay": 0.1, "amsgrad": True}),
    "AdamW": ({}, {"lr": 0.1, "weight_decay": 0.3}),
    "RMSprop": ({}, {"lr": 0.1, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    "Adagrad": ({}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    "Adamax": ({}, {"lr": 0.1, "weight_decay": 0.1}),
    "NAdam": ({}, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "RAdam": ({"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.1}),
    "Adadelta": ({}, {"lr": 0.3, "rho": 0.7, "weight_decay": 0.1}),
    "Rprop": ({}, {"lr": 0.1, "etas": (0.3, 1.7), "step_sizes": (1e-5, 0.3)}),
    "ASGD": ({}, {"lr": 0.1, "lambd": 0.01, "t0": 2.0, "weight_decay": 0.1}),
    "LBFGS": ({"max_iter": 3}, {"lr": 0.3, "max_iter": 4, "history_size": 2}),
}
SCHEDULES = {
    "StepLR": ({"step_size": 2, "gamma": 0.3},),
    "MultiStepLR": ({"milestones": [2, 5], "gamma": 0.3},),
    "ExponentialLR": ({"gamma": 0.9},),
    "ConstantLR": ({"factor": 0.3, "total_iters": 3},),
    "LinearLR": ({"start_factor": 0.3, "end_factor": 0.9, "total_iters": 5},),
    "PolynomialLR": ({"total_iters": 6, "power": 2.0},),
    "CosineAnnealingLR": ({"T_max": 5, "eta_min": 0.01},),
    "CosineAnnealingWarmRestarts": ({"T_0": 3, "T_mult": 2, "eta_min": 0.01},),
    "CyclicLR": ({"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 3, "cycle_momentum": False},),
    "OneCycleLR": ({"max_lr": 0.5, "total_steps": 12},),
}

STEPS = """(function(x, target, options)
    local p = x:detach():clone():requires_grad_()
    local o = optim.%s({ p }, options)
    for _ = 1, 6 do
        o:step(function()
            o:zero_grad()
            local loss = ((p - target) ^ 2 * (p + 2)):sum()
            loss:backward()
            return loss
        end)
    end
    return p:detach()
end)(ARGUMENTS)"""

RATES = """(function(options)
    local p, rates = zeros(1):requires_grad_(), {}
    local o = optim.SGD({ p }, { lr = 0.1 })
    local s = optim.lr.%s(o, options)
    p.grad = zeros(1)
    for i = 1, 12 do
        rates[i] = o.param_groups[1].lr
        o:step()
        s:step()
    end
    return tensor(rates, { dtype = "f64" })
end)(ARGUMENTS)"""


def steps_of(name):
    def steps(x, target, **options):
        p = x.detach().clone().requires_grad_()
        o = getattr(torch.optim, name)([p], **options)

        def closure():
            o.zero_grad()
            loss = ((p - target) ** 2 * (p + 2)).sum()
            loss.backward()
            return loss
        for _ in range(6):
            o.step(closure)
        return p.detach()
    return steps


def rates_of(name):
    def rates(**options):
        p = torch.zeros(1, requires_grad=True)
        o = torch.optim.SGD([p], lr=0.1)
        s = getattr(torch.optim.lr_scheduler, name)(o, **options)
        out = []
        p.grad = torch.zeros(1)
        for _ in range(12):
            out.append(o.param_groups[0]["lr"])
            o.step()
            s.step()
        return torch.tensor(out, dtype=torch.float64)
    return rates


def every(sample):
    """(name, sample of it) of all; sample makes one of a function, its arguments and Lua text."""
    x = torch.tensor([1.5, -0.3, 0.7, 2.1], dtype=torch.float64)
    target = torch.tensor([0.1, 0.2, 0.3, 2.1], dtype=torch.float64)
    for name, options in OPTIMIZERS.items():
        for o in options:
            yield "optim." + name, sample(steps_of(name), [x, target], o, STEPS % name)
    for name, options in SCHEDULES.items():
        for o in options:
            yield "optim.lr." + name, sample(rates_of(name), [], o, RATES % name)
