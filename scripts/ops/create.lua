--!plain
-- Composites: tensors made from a shape or after another tensor. See define in scripts/init.lua.
local gpush, define = ...

for name, value in pairs { zeros = 0, ones = 1 } do
    define { name .. "_like", sig = "tensor x, dtype? dtype, device? device",
        help = "a tensor of " .. name .. " in the shape, dtype and place of x",
        fn = function(x, dtype, device)
            return gpush.full(x.shape, value, { dtype = dtype or x.dtype, device = device or x.device })
        end }
end
