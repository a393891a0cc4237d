--!plain
-- Help texts of optimizers and schedules; their form: init.lua.
local composed = "A step is made of ops, several for each parameter; a captured function cannot \z
    take it."
return {
    ["optim.Adagrad"] = {
        shapes = "params: of any shape",
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.Adagrad({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.5, 0.5}, f32 2 \z
            cpu)" },
    ["optim.Adam"] = {
        shapes = "params: of any shape",
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.Adam({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.5, 0.5}, f32 2 \z
            cpu)" },
    ["optim.AdamW"] = {
        shapes = "params: of any shape",
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.AdamW({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.495, 0.495}, \z
            f32 2 cpu)" },
    ["optim.RMSprop"] = {
        shapes = "params: of any shape",
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.RMSprop({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({-4.0, -4.0}, f32 \z
            2 cpu)" },
    ["optim.SGD"] = {
        shapes = "params: of any shape",
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.SGD({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.5, 0.5}, f32 2 \z
            cpu)" },
    ["optim.Adadelta"] = {
        shapes = "params: of any shape",
        text = composed,
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.Adadelta({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.9984, 0.9984}, \z
            f32 2 cpu)" },
    ["optim.Adamax"] = {
        shapes = "params: of any shape",
        text = composed,
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.Adamax({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.5, 0.5}, \z
            f32 2 cpu)" },
    ["optim.ASGD"] = {
        shapes = "params: of any shape",
        text = "opt.state[w].ax is the average of w, from step t0 on. " .. composed,
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.ASGD({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.4999, 0.4999}, \z
            f32 2 cpu)" },
    ["optim.NAdam"] = {
        shapes = "params: of any shape",
        text = composed,
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.NAdam({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.4718, 0.4718}, \z
            f32 2 cpu)" },
    ["optim.RAdam"] = {
        shapes = "params: of any shape",
        text = composed,
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.RAdam({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.5, 0.5}, \z
            f32 2 cpu)" },
    ["optim.Rprop"] = {
        shapes = "params: of any shape",
        text = composed,
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.Rprop({w}, {lr = \z
            0.5})\nw:sum():backward() opt:step() return w:detach()\n--> tensor({0.5, 0.5}, \z
            f32 2 cpu)" },
    ["optim.LBFGS"] = {
        text = "For few parameters and a whole batch, not for noisy gradients. Each evaluation of \z
            the closure, and each move, waits for numbers that decide how to go on: the waits are \z
            on record at the line of opt:step. line_search_fn = 'strong_wolfe' looks for a step \z
            that fits along each direction, and waits more. A captured function cannot take it.",
        shapes = "params: of any shape, f32 or f64, of one dtype on one device, in one group",
        waits = "for losses and gradients, by which it decides",
        example = "local w = ones(2):requires_grad_()\nlocal opt = optim.LBFGS({w}, \z
            {line_search_fn = \"strong_wolfe\"})\nopt:step(function()\n    opt:zero_grad()\n    \z
            local loss = ((w - 3) ^ 2):sum()\n    loss:backward()\n    return loss\nend)\n\z
            return w:detach()\n--> tensor({3.0, 3.0}, \z
            f32 2 cpu)",
        see = "optim, sync" },
    ["optim.ZeroRedundancyOptimizer"] = {
        call = "optim.ZeroRedundancyOptimizer(params, class [, options])",
        text = "An optimizer of class, such as optim.AdamW, whose state is divided among the \z
            ranks of a job: each steps its part of the parameters and gives them to the others. \z
            Results are those of the optimizer itself, bit for bit. Gradients must be the same on \z
            all ranks, as nn.parallel.DistributedDataParallel makes them; every rank calls step, \z
            where on the cpu the host waits for the others. \z
            checkpoint.save with sharded = true saves the parts, which load on any number of \z
            ranks, and into the optimizer itself.",
        options = "class: an optimizer, such as optim.Adam; options: its options, and group, what \z
            dist.group made",
        shapes = "params: of any shape",
        example = "local w = ones(2):requires_grad_()\nlocal opt = \z
            optim.ZeroRedundancyOptimizer({w}, optim.SGD, {lr = 0.5})\nw:sum():backward() \z
            opt:step() return w:detach()\n--> tensor({0.5, 0.5}, f32 2 cpu)",
        see = "nn.parallel.DistributedDataParallel, checkpoint, optim" },
    ["amp.autocast"] = { text = "autocast, by the name that PyTorch has for it, too.",
        see = "autocast" },
    ["amp.GradScaler"] = {
        text = "scaler:scale(loss):backward(), scaler:step(optimizer), scaler:update(). Nothing \z
            of it waits: the device finds what is infinite, skips that step and lowers the \z
            scale. scaler:unscale_(optimizer) before clipping; bf16 needs none of it.",
        example = "local w = ones(2):requires_grad_()\nlocal opt, scaler = optim.SGD({w}, {lr = \z
            0.5}), amp.GradScaler()\nscaler:scale(w:sum()):backward() scaler:step(opt) \z
            scaler:update() return w:detach()\n--> tensor({0.5, 0.5}, f32 2 cpu)",
        see = "autocast, optim" },
    ["optim.lr.ChainedScheduler"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.ChainedScheduler{optim.lr.StepLR(opt, 1), optim.lr.ExponentialLR(opt, \z
            0.5)}\nfor _ = 1, 1 do s:step() end return s:get_last_lr()[1]\n--> 0.05" },
    ["optim.lr.ConstantLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.ConstantLR(opt, 0.5, 3)\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 0.5" },
    ["optim.lr.CosineAnnealingLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.CosineAnnealingLR(opt, 4)\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 0.5" },
    ["optim.lr.CosineAnnealingWarmRestarts"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.CosineAnnealingWarmRestarts(opt, 2)\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 1.0" },
    ["optim.lr.CyclicLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = optim.lr.CyclicLR(opt, \z
            0.1, 0.5, {step_size_up = 2, cycle_momentum = false})\nfor _ = 1, 2 do s:step() end \z
            return s:get_last_lr()[1]\n--> 0.5" },
    ["optim.lr.ExponentialLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.ExponentialLR(opt, 0.5)\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 0.25" },
    ["optim.lr.LambdaLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = optim.lr.LambdaLR(opt, \z
            function(n) return 1 / (n + 1) end)\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 0.33333333333333" },
    ["optim.lr.LinearLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = optim.lr.LinearLR(opt, \z
            0.5, 1, 4)\nfor _ = 1, 2 do s:step() end return s:get_last_lr()[1]\n--> 0.75" },
    ["optim.lr.MultiStepLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.MultiStepLR(opt, {2, 4})\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 0.1" },
    ["optim.lr.MultiplicativeLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.MultiplicativeLR(opt, function() return 0.5 end)\nfor _ = 1, 2 do s:step() \z
            end return s:get_last_lr()[1]\n--> 0.25" },
    ["optim.lr.OneCycleLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.OneCycleLR(opt, {max_lr = 1, total_steps = 4, cycle_momentum = false})\nfor \z
            _ = 1, 2 do s:step() end return s:get_last_lr()[1]\n--> 0.2830609982087" },
    ["optim.lr.PolynomialLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.PolynomialLR(opt, 4)\nfor _ = 1, 2 do s:step() end return \z
            s:get_last_lr()[1]\n--> 0.5" },
    ["optim.lr.ReduceLROnPlateau"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.ReduceLROnPlateau(opt, {patience = 0})\ns:step(1) s:step(2) return \z
            opt.param_groups[1].lr\n--> 0.1" },
    ["optim.lr.SequentialLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = \z
            optim.lr.SequentialLR(opt, {optim.lr.ConstantLR(opt, 0.5), optim.lr.StepLR(opt, 1)}, \z
            {2})\nfor _ = 1, 2 do s:step() end return s:get_last_lr()[1]\n--> 1.0" },
    ["optim.lr.StepLR"] = {
        example = "local opt = optim.SGD({ones(1)}, {lr = 1})\nlocal s = optim.lr.StepLR(opt, \z
            2)\nfor _ = 1, 2 do s:step() end return s:get_last_lr()[1]\n--> 0.1" },
}
