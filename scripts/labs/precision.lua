-- A lab's --precision: f32; bf16, where ops choose bf16 by autocast; or f16, where a scaler also
-- keeps small gradients above 0. precision.of(name) gives forward(fn, …), which runs fn so, and the
-- scaler, which does nothing where it is not needed.
local precision = {}

function precision.of(name)
    local low = name ~= "f32"
    local scope = { dtype = low and name or "bf16", enabled = low }
    local function forward(fn, ...) return autocast(scope, fn, ...) end
    return forward, amp.GradScaler { enabled = name == "f16" }
end

return precision
