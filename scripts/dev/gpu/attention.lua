-- Whether cuDNN runs attention of 16 bits, forward and backward, where it should: what it refuses
-- runs without a word by products that take 20 to 50 times as long. gpush attention.lua DEVICE:
-- exit status 1 with a line for each call that was not cuDNN's.
local device = arg[1]
if device ~= "cuda" then
    print("not on " .. device)
    return
end
local capability = cuda.get_device_capability()
if capability < 8 then
    print("cuDNN has no attention for compute capability " .. capability)
    return
end

-- Which of the calls in fn were cuDNN's, by what follows "attention" in their names.
local function watched(fn)
    local by = {}
    for _, e in ipairs(profile.run({}, fn):events()) do
        local part = e.kind == "kernel" and e.name:match "^attention_?(%a*)$"
        if part then by[part] = by[part] or e.kernel:find "^cuDNN" ~= nil end
    end
    return by
end

local missed, calls = 0, 0
local function check(what, by, part)
    calls = calls + 1
    if by[part] then return end
    missed = missed + 1
    print(("not by cuDNN: attention%s, %s"):format(part == "" and "" or "_" .. part, what))
end

for _, dtype in ipairs { "f16", "bf16" } do
    for _, causal in ipairs { false, true } do
        for _, deterministic in ipairs { true, false } do
            cuda.deterministic(deterministic)
            local what = ("%s%s%s"):format(dtype, causal and ", causal" or "",
                deterministic and ", deterministic" or "")
            local x = {}
            for i = 1, 3 do
                x[i] = randn(1, 2, 128, 64, { device = device, dtype = "f32" }):to(dtype)
            end
            check(what, watched(function()
                scaled_dot_product_attention(x[1], x[2], x[3], nil, 0, causal)
                synchronize(device)
            end), "")
            for i = 1, 3 do x[i]:requires_grad_() end
            local by = watched(function()
                scaled_dot_product_attention(x[1], x[2], x[3], nil, 0, causal):to "f32":sum()
                    :backward()
                synchronize(device)
            end)
            check(what, by, "forward")
            check(what, by, "backward")
        end
    end
end
print(("%d of %d calls by cuDNN"):format(calls - missed, calls))
os.exit(missed == 0 and 0 or 1)
