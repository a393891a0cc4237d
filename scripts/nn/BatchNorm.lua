--!plain
-- BatchNorm1d, 2d, 3d: each channel to mean 0 and variance 1, over the batch while training, by running statistics after.
local gpush, nn = ...

local function check(self, x)
    local n = x:dim()
    if n < self.least or n > self.most then
        nn.fail("x is %s (expected %s dims)", nn.shape_text(x),
            self.least == self.most and self.least or self.least .. " or " .. self.most)
    end
    if x:size(2) ~= self.num_features then
        nn.fail("x is %s (expected %d channels, dim 2)", nn.shape_text(x), self.num_features)
    end
end

for dims = 1, 3 do
    local BatchNorm = nn.module { "BatchNorm" .. dims .. "d", help = "each channel (dim 2) to mean 0 and variance 1",
        sig = "int num_features, float eps=1e-5, float momentum=0.1, bool affine=true, bool track_running_stats=true, "
            .. "dtype? dtype, device? device" }

    function BatchNorm:init(features, eps, momentum, affine, track, dtype, device)
        self.num_features, self.eps, self.momentum = features, eps, momentum
        self.least, self.most = dims == 1 and 2 or dims + 2, dims + 2
        if affine then
            self.weight = nn.parameter(gpush.ones(features, dtype, device))
            self.bias = nn.parameter(gpush.zeros(features, dtype, device))
        end
        if track then
            self:register_buffer("running_mean", gpush.zeros(features, dtype, device))
            self:register_buffer("running_var", gpush.ones(features, dtype, device))
            self:register_buffer("num_batches_tracked", gpush.zeros({}, "i64", device))
        end
    end

    function BatchNorm:forward(x)
        check(self, x)
        local mean, var = self.running_mean, self.running_var
        if mean and self.training then self.num_batches_tracked:add_(1) end
        return x:batch_norm(mean, var, self.weight, self.bias, self.training or not mean, self.momentum, self.eps)
    end

    function BatchNorm:extra_repr() return tostring(self.num_features) end
    nn["BatchNorm" .. dims .. "d"] = BatchNorm
end
