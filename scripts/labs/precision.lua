-- A lab's --precision: f32; bf16, where ops choose bf16 by autocast; or f16, where a scaler also
-- keeps small gradients above 0. precision.of(name) gives forward(fn, …), which runs fn so, and the
-- scaler, which does nothing where it is not needed.
local precision = {}

function precision.of(name)
    local low = name ~= "f32"
    if low and name ~= "f16" and name ~= "bf16" then
        io.stderr:write(("%s: --precision %s: expected f32, f16 or bf16\n"):format(arg[0], name))
        os.exit(false)
    end
    local scope = { dtype = low and name or "bf16", enabled = low }
    local function forward(fn, ...) return autocast(scope, fn, ...) end
    return forward, amp.GradScaler { enabled = name == "f16" }
end

return precision
