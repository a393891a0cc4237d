--!plain
-- nn.utils: PyTorch's place for clipping, which stands in optim.
local gpush, nn = ...

nn.utils = { clip_grad_norm_ = gpush.optim.clip_grad_norm_,
    clip_grad_value_ = gpush.optim.clip_grad_value_ }
