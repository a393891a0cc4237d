--!plain
-- NVIDIA's own NVRTC compiles the texts of fused functions, for the oldest card that it knows here
-- and for a recent one. They are those that the stand-in's NVRTC was given.
local t = require "tap"
local fake = require "fake"

local function lines(command)
    local p, all = assert(io.popen(command)), {}
    for line in p:lines() do all[#all + 1] = line end
    p:close()
    return all
end
local function read(path)
    local f = assert(io.open(path, "rb"))
    local text = f:read "a"
    f:close()
    return text
end

-- A library in a toolkit, or in Python's packages, but none of the stand-in.
local found = lines [[ls -d "${CUDA_HOME:-/usr/local/cuda}"/lib64/libnvrtc.so.1[23] \
    /usr/local/cuda*/lib64/libnvrtc.so.1[23] /usr/lib/*-linux-gnu/libnvrtc.so.1[23] \
    2>/dev/null]]
if #found == 0 then t.skip_all "NVRTC is not installed" end

local keep = os.getenv "TMPDIR" .. "/kept"
assert(os.execute(("GPUSH_FAKE_NVRTC_KEEP=%s GPUSH_FUSE_COMPILE=wait \z
    %s/gpush -e 'require \"fused_programs\".run_every_row()'"):format(keep,
    os.getenv "GPUSH_BUILD")))
local headers, options = {}, { "--std=c++17", "--fmad=false", "-DGP_MAX_DIM=8",
    "--device-as-default-execution-space" }
for _, path in ipairs(lines("cd " .. keep .. "/include && find . -type f")) do
    headers[#headers + 1] = { path:sub(3), read(keep .. "/include/" .. path) }
end
local texts = lines("ls " .. keep .. "/*.cu")
t.ok(#texts >= 3, "there are texts")
for i, path in ipairs(texts) do
    local card = i % 2 == 0 and "sm_75" or "sm_90"
    options[5] = "--gpu-architecture=" .. card
    local ok, log = fake.nvrtc(found[1], read(path), headers, options)
    if not t.ok(ok, ("text %d for %s"):format(i, card)) then io.stderr:write("#   ", log, "\n") end
end
t.done()
