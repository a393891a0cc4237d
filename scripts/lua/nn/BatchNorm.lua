--!plain
-- BatchNorm1d, 2d, 3d: each channel to mean 0 and variance 1, over the batch while training, by
-- running statistics after. InstanceNorm1d, 2d, 3d: each channel of each image on its own.
local require = ...
local gpush, nn = require "gpush", require "nn"

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

-- The running statistics as the mean of those of all batches so far: batch_norm with momentum 1
-- leaves the batch's own, and the number of batches stays on the device.
local function cumulative(self, run, x)
    local mean, var = gpush.zeros_like(self.running_mean), gpush.zeros_like(self.running_var)
    local y = run(x, mean, var, self.weight, self.bias, true, 1, self.eps)
    self.running_mean:add_((mean - self.running_mean) / self.num_batches_tracked)
    self.running_var:add_((var - self.running_var) / self.num_batches_tracked)
    return y
end

-- op: batch_norm or instance_norm; least, most: dims of x; on: the default of affine and of
-- track_running_stats.
local function norm(name, op, least, most, on)
    local run, counts = gpush[op], op == "batch_norm"
    local Norm = nn.module { name,
        help = "each channel (dim 2)" .. (counts and "" or " of each image") ..
            " to mean 0 and variance 1",
        sig =
            ("int num_features, float eps=1e-5, number momentum=0.1, bool affine=%s, bool \z
                track_running_stats=%s, "
            .. "dtype? dtype, device? device"):format(on, on) }

    function Norm:init(features, eps, momentum, affine, track, dtype, device)
        if momentum == true then
            nn.raise("nn.%s: option 'momentum': expected a number, or false for the mean of all \z
                batches, got true", name)
        end
        self.num_features, self.eps, self.momentum = features, eps, momentum
        self.least, self.most = least, most
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

    function Norm:forward(x)
        check(self, x)
        local mean, var = self.running_mean, self.running_var
        if mean and self.training and counts then self.num_batches_tracked:add_(1) end
        if mean and self.training and counts and not self.momentum then
            return cumulative(self, run, x)
        end
        return run(x, mean, var, self.weight, self.bias, self.training or not mean,
            self.momentum or 0, self.eps)
    end

    function Norm:extra_repr() return tostring(self.num_features) end
    nn[name] = Norm
end

for dims = 1, 3 do
    norm("BatchNorm" .. dims .. "d", "batch_norm", dims == 1 and 2 or dims + 2, dims + 2, true)
    norm("InstanceNorm" .. dims .. "d", "instance_norm", dims + 2, dims + 2, false)
end
