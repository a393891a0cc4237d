--!plain
-- Help texts of training in 16 bits; their form: scripts/lua/help/topics.lua.
return [==[
amp (see autocast, optim)
    Training in 16 bits: amp.GradScaler keeps small gradients of f16, autocast lets ops choose their
    dtype.
amp.autocast (see autocast)
    PyTorch's name for autocast.
amp.GradScaler (see autocast, optim)
    scaler:scale(loss):backward(), scaler:step(optimizer), scaler:update(). None of these waits: the
    device finds infinite gradients, skips that step and lowers the scale.
    scaler:unscale_(optimizer) before clipping; bf16 does not need it.
    > local w = ones(2):requires_grad_()
    > local opt, scaler = optim.SGD({w}, {lr = 0.5}), amp.GradScaler()
    > scaler:scale(w:sum()):backward() scaler:step(opt) scaler:update() return w:detach()
    --> tensor({0.5, 0.5}, f32 2 cpu)
]==]
