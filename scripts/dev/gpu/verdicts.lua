-- Kernels of cuda.kernel, right and wrong ones, whose verdicts by gpush's own checks are to be
-- those of compute-sanitizer. gpush verdicts.lua: a line "name<TAB>tool<TAB>verdict" for each.
-- verdict is what the checks say on the processor, or "right"; tool is the one of
-- compute-sanitizer's that sees the same, or "none": it looks for races in shared memory alone, for
-- reads of uninitialised memory in global memory alone, and a tensor is a part of what cudaMalloc
-- gave. gpush verdicts.lua NAME DEVICE: launches that one there, unchecked.
local name, device = arg[1], arg[2] or "cpu"
local kernels = {}

-- text: of a kernel k(float *x, float *y), which is launched with two blocks of 64 threads on 128
-- elements each. tool: nil: it is right.
local function kernel(what, tool, text) kernels[#kernels + 1] = { what, tool, text } end
local head = "__global__ void k(float *x, float *y) {\n" ..
    "int t = threadIdx.x, i = blockIdx.x * 64 + t;\n"

kernel("copy", "memcheck", head .. "y[i] = x[i]; }")
kernel("sum of a block", "racecheck", head .. [[
__shared__ float s[64];
s[t] = x[i];
for (int d = 32; d; d /= 2) {
    __syncthreads();
    if (t < d) s[t] += s[t + d];
}
if (t == 0) y[blockIdx.x] = s[0]; }]])
kernel("barrier that all reach", "synccheck", head .. "__syncthreads(); y[i] = x[i]; }")
kernel("write beyond the end", "none", head .. "y[i + 1] = x[i]; }")
kernel("write far beyond the end", "memcheck", head .. "y[i + (1 << 28)] = x[i]; }")
kernel("read far before the beginning", "memcheck", head .. "y[i] = x[i - (1 << 28)]; }")
kernel("misaligned read", "memcheck",
    head .. "if (t == 0) y[i] = *(float *)((char *)(x + i) + 1); }")
kernel("write beyond a shared array", "memcheck", head .. [[
__shared__ float s[64];
volatile int far = t + 20000;
s[t == 9 ? far : t] = x[i];
y[i] = s[t]; }]])
kernel("no barrier before a read", "racecheck", head .. [[
__shared__ float s[64];
s[t] = x[i];
y[i] = s[63 - t]; }]])
kernel("no barrier after a read", "racecheck", head .. [[
__shared__ float s[64];
s[t] = x[i];
__syncthreads();
float next = s[(t + 33) % 64];
s[t] = next;
__syncthreads();
y[i] = s[t]; }]])
kernel("barrier for half a warp", "synccheck",
    head .. "if (t < 16) __syncthreads(); y[i] = x[i]; }")
kernel("race between blocks", "none", head .. "y[t] = x[i]; }")
kernel("uninitialised shared memory", "none", head .. [[
__shared__ float s[64];
if (t < 32) s[t] = x[i];
__syncthreads();
y[i] = s[t]; }]])

for _, k in ipairs(kernels) do
    local what, tool, text = table.unpack(k)
    if not name or name == what then
        local run = cuda.kernel(text, "k", { check = not name })
        local x, y = ones(128, { device = device }), zeros(128, { device = device })
        local ok, why = pcall(run, 2, 64, x, y)
        if name then
            synchronize(device)
            print(ok and "launched" or why)
            os.exit(ok and 0 or 1)
        end
        local verdict = ok and "right" or tostring(why):match "k: (.-) at " or why
        print(("%s\t%s\t%s"):format(what, tool, verdict:gsub("%s+", " ")))
    end
end
