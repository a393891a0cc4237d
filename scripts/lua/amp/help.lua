--!plain
-- Help texts of training in 16 bits; their form: scripts/lua/help/topics.lua.
return [==[
amp (see autocast, optim)
    Training in 16 bits: amp.GradScaler keeps small gradients of f16, autocast lets ops choose their
    dtype.
amp.autocast (see autocast)
    autocast, by the name that PyTorch has for it, too.
amp.GradScaler (see autocast, optim)
    scaler:scale(loss):backward(), scaler:step(optimizer), scaler:update(). Nothing of it waits: the
    device finds what is infinite, skips that step and lowers the scale. scaler:unscale_(optimizer)
    before clipping; bf16 needs none of it.
    > local w = ones(2):requires_grad_()
    > local opt, scaler = optim.SGD({w}, {lr = 0.5}), amp.GradScaler()
    > scaler:scale(w:sum()):backward() scaler:step(opt) scaler:update() return w:detach()
    --> tensor({0.5, 0.5}, f32 2 cpu)
]==]
