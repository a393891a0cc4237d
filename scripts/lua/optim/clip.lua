--!plain
-- Clipping of gradients.
local require = ...
local gpush, optim = require "gpush", require "optim"
local composite, parameters = require "composite", require "parameters"
local raise, failing = require "raise", require "optim.failing"

local function gradients(params, name)
    local fail = failing(name)
    local by_device, order = {}, {}
    for _, p in ipairs(parameters(params, fail, "optim." .. name)) do
        local g = p.grad
        if g then
            local list = by_device[p.device]
            if not list then
                list = {}
                by_device[p.device], order[#order + 1] = list, list
            end
            list[#list + 1] = g
        end
    end
    if #order > 1 then
        fail "the parameters are on several devices; clip those of each on their own"
    end
    return order[1]
end

optim.clip_grad_norm_ = composite {
    name = "optim.clip_grad_norm_",
    sig = "any params, float max_norm, float norm_type=2, bool error_if_nonfinite=false",
    help = "scales the gradients of params, a list or a model, down where their norm as one \z
        vector is above max_norm; "
        .. "gives that norm as a 0-d tensor. Waits only to check whether it is finite",
    fn = function(params, max_norm, norm_type, finite)
        if not (max_norm >= 0) then
            raise("optim.clip_grad_norm_: argument 'max_norm': expected a number from 0, got %s",
                max_norm)
        end
        local grads = gradients(params, "clip_grad_norm_")
        if not grads then return gpush.zeros {} end
        local _ <close> = gpush.no_grad()
        -- nothing is scaled yet
        local n = finite and gpush.clip_grad_norm(grads, math.huge, norm_type):item()
        if n and (n ~= n or n == math.huge) then
            raise("optim.clip_grad_norm_: the norm of the gradients is %s",
                n ~= n and "nan" or "inf")
        end
        return gpush.clip_grad_norm(grads, max_norm, norm_type)
    end,
}

optim.clip_grad_value_ = composite {
    name = "optim.clip_grad_value_",
    sig = "any params, float clip_value",
    help = "limits each element of the gradients of params, a list or a model, to -clip_value … \z
        clip_value",
    fn = function(params, clip_value)
        if not (clip_value >= 0) then
            raise("optim.clip_grad_value_: argument 'clip_value': expected a number from 0, got %s",
                clip_value)
        end
        local grads = gradients(params, "clip_grad_value_")
        local _ <close> = gpush.no_grad()
        if grads then gpush.clip_grad_value(grads, clip_value) end
    end,
}
