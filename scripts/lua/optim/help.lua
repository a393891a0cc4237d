--!plain
-- Help texts of optimizers and schedules; their form: scripts/lua/help/topics.lua.
return [==[
optim (see nn, backward)
    Optimisers over a table of parameters: optim.Adam(model:parameters(), {lr = 1e-3}), then
    :step().
optim.raise | optim.raise(format, …) (see optim.define)
    An error at the line of the script that called, not inside the optimizer.
optim.check_positive | optim.check_positive(group, fail, name, …) (see optim.define)
    For check functions of optim.define: these options must be 0 or more.
optim.lr (see optim.lr.StepLR, optim.lr.CosineAnnealingLR, optim.lr.OneCycleLR)
    Schedules, which change learning rates as training goes on: s = optim.lr.StepLR(opt, 30), then
    s:step() after each epoch. To resume, load a schedule's state, or the optimizer's and name the
    schedule's last_epoch.
optim.lr_scheduler (see optim.lr)
    optim.lr by PyTorch's name.
optim.any.add_param_group
    Adds a group of parameters: opt:add_param_group {params = …, lr = …}.
optim.any.check (see optim.define)
    Raises an error where options are invalid; called for each group.
optim.any.fill (see optim.define)
    Sets defaults that a signature cannot express.
optim.any.key (see optim.define)
    What the parameters of one launch have in common.
optim.any.launch (see optim.define)
    One launch of the optimizer's op for lists of parameters.
optim.any.slots (see optim.define)
    Names of the tensors that are kept for each parameter.
optim.any.rate (see optim.lr)
    A group's learning rate after that number of steps.
optim.any.begin (see optim.lr)
    Called when a schedule is made.
optim.any.load_state_dict
    waits: for the copies of tensors to another device, and for counts of steps on one
optim.any.check_state_dict
    Raises if dict is not the state of such an optimizer or schedule.
optim.Adagrad (see optim.Adam)
optim.Adam
    > local w = ones(2):requires_grad_()
    > local opt = optim.Adam({w}, {lr = 0.5})
    > w:sum():backward() opt:step() return w:detach()
    --> tensor({0.5, 0.5}, f32 2 cpu)
optim.AdamW (see optim.Adam)
optim.RMSprop (see optim.Adam)
optim.SGD
    > local w = ones(2):requires_grad_()
    > local opt = optim.SGD({w}, {lr = 0.5})
    > w:sum():backward() opt:step() return w:detach()
    --> tensor({0.5, 0.5}, f32 2 cpu)
optim.Adadelta (see optim.Adam)
    A step consists of several ops for each parameter; a captured function cannot contain it.
optim.Adamax (see optim.Adam)
    A step consists of several ops for each parameter; a captured function cannot contain it.
optim.ASGD (see optim.Adam)
    opt.state[w].ax is the average of w, from step t0 on. A step consists of several ops for each
    parameter; a captured function cannot contain it.
optim.NAdam (see optim.Adam)
    A step consists of several ops for each parameter; a captured function cannot contain it.
optim.RAdam (see optim.Adam)
    A step consists of several ops for each parameter; a captured function cannot contain it.
optim.Rprop (see optim.Adam)
    A step consists of several ops for each parameter; a captured function cannot contain it.
optim.LBFGS (see optim, sync)
    For few parameters and a whole batch, not for noisy gradients. Each evaluation of the closure
    and each move waits for numbers that decide what follows; the waits are recorded at the line of
    opt:step. line_search_fn = 'strong_wolfe' searches for a step length along each direction, and
    waits more often. A captured function cannot contain it.
    shapes: params: of any shape, f32 or f64, of one dtype on one device, in one group
    waits: for losses and gradients
    > local w = ones(2):requires_grad_()
    > local opt = optim.LBFGS({w}, {line_search_fn = "strong_wolfe"})
    > opt:step(function()
    >     opt:zero_grad()
    >     local loss = ((w - 3) ^ 2):sum()
    >     loss:backward()
    >     return loss
    > end)
    > return w:detach()
    --> tensor({3.0, 3.0}, f32 2 cpu)
optim.ZeroRedundancyOptimizer | optim.ZeroRedundancyOptimizer(params, class [, options])
    An optimizer of class, such as optim.AdamW, whose state is divided among the ranks of a job:
    each rank updates its part of the parameters and sends it to the others. Results are those of
    the optimizer itself, bit for bit. Gradients must be the same on all ranks, as
    nn.parallel.DistributedDataParallel makes them; every rank calls step, where on the cpu the host
    waits for the others. checkpoint.save with sharded = true saves the parts, which load on any
    number of ranks, and into the optimizer itself.
    options: class: an optimizer, such as optim.Adam; options: its options, and group, what
        dist.group made
    > local w = ones(2):requires_grad_()
    > local opt = optim.ZeroRedundancyOptimizer({w}, optim.SGD, {lr = 0.5})
    > w:sum():backward() opt:step() return w:detach()
    --> tensor({0.5, 0.5}, f32 2 cpu)
    see: nn.parallel.DistributedDataParallel, checkpoint, optim
optim.lr.ChainedScheduler
    > local opt = optim.SGD({ones(1)}, {lr = 1})
    > local s = optim.lr.ChainedScheduler{optim.lr.StepLR(opt, 1), optim.lr.ExponentialLR(opt, 0.5)}
    > for _ = 1, 1 do s:step() end return s:get_last_lr()[1]
    --> 0.05
optim.lr.ConstantLR (see optim.lr.StepLR)
optim.lr.CosineAnnealingLR (see optim.lr.StepLR)
optim.lr.CosineAnnealingWarmRestarts (see optim.lr.StepLR)
optim.lr.CyclicLR (see optim.lr.StepLR)
optim.lr.ExponentialLR (see optim.lr.StepLR)
optim.lr.LambdaLR (see optim.lr.StepLR)
optim.lr.LinearLR (see optim.lr.StepLR)
optim.lr.MultiStepLR (see optim.lr.StepLR)
optim.lr.MultiplicativeLR (see optim.lr.StepLR)
optim.lr.OneCycleLR (see optim.lr.StepLR)
optim.lr.PolynomialLR (see optim.lr.StepLR)
optim.clip_grad_norm_
    waits: for the norm, if error_if_nonfinite
optim.lr.ReduceLROnPlateau
    waits: in step(loss), for a loss on a device: give it a number, such as the mean of an epoch
    > local opt = optim.SGD({ones(1)}, {lr = 1})
    > local s = optim.lr.ReduceLROnPlateau(opt, {patience = 0})
    > s:step(1) s:step(2) return opt.param_groups[1].lr
    --> 0.1
optim.lr.SequentialLR
    > local opt = optim.SGD({ones(1)}, {lr = 1})
    > local s = optim.lr.SequentialLR(opt, {optim.lr.ConstantLR(opt, 0.5), optim.lr.StepLR(opt,
    >     1)}, {2})
    > for _ = 1, 2 do s:step() end return s:get_last_lr()[1]
    --> 1.0
optim.lr.StepLR
    > local opt = optim.SGD({ones(1)}, {lr = 1})
    > local s = optim.lr.StepLR(opt, 2)
    > for _ = 1, 2 do s:step() end return s:get_last_lr()[1]
    --> 0.1
]==]
