--!plain
-- InstanceNorm1d, 2d, 3d: each channel of each image to mean 0 and variance 1.
local gpush, nn = ...

for dims = 1, 3 do
    local InstanceNorm = nn.module { "InstanceNorm" .. dims .. "d",
        help = "each channel (dim 2) of each image to mean 0 and variance 1",
        sig = "int num_features, float eps=1e-5, float momentum=0.1, bool affine=false, bool track_running_stats=false, "
            .. "dtype? dtype, device? device" }

    function InstanceNorm:init(features, eps, momentum, affine, track, dtype, device)
        self.num_features, self.eps, self.momentum = features, eps, momentum
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

    function InstanceNorm:forward(x)
        if x:dim() ~= dims + 2 then nn.fail("x is %s (expected %d dims)", nn.shape_text(x), dims + 2) end
        if x:size(2) ~= self.num_features then
            nn.fail("x is %s (expected %d channels, dim 2)", nn.shape_text(x), self.num_features)
        end
        local mean, var = self.running_mean, self.running_var
        return x:instance_norm(mean, var, self.weight, self.bias, self.training or not mean, self.momentum, self.eps)
    end

    function InstanceNorm:extra_repr() return tostring(self.num_features) end
    nn["InstanceNorm" .. dims .. "d"] = InstanceNorm
end
