--!plain
-- nn.utils: PyTorch's name for clipping, which is in optim.
local gpush, nn = ...

nn.utils = { clip_grad_norm_ = gpush.optim.clip_grad_norm_,
    clip_grad_value_ = gpush.optim.clip_grad_value_ }
