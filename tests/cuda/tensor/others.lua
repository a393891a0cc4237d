-- The device's memory is what other programs leave of it: the limit is what was free, and is asked
-- again where it does not do.
local t = require "tap"
local root, build = os.getenv "TMPDIR", os.getenv "GPUSH_BUILD"
local function write(name, text)
    local f = assert(io.open(root .. "/" .. name, "w"))
    f:write(text)
    f:close()
end
local MIB <const> = 1 << 20
write("others", 60 * MIB)
write("child.lua", ([[
local on = {device = "cuda", dtype = "u8"}
local function others(mib)
    local f = assert(io.open("%s/others", "w"))
    f:write(mib << 20)
    f:close()
end
local function hold(mib) return zeros(mib << 20, on) end
local x = hold(1)
print(memory("cuda").limit // (1 << 20))
local ok, why = pcall(hold, 50)
print(ok, why:match "out of memory on cuda:0: requested 50.0 MiB.-, of (.-) MiB that others leave")
others(30)
local y = hold(50)
print(memory("cuda").limit // (1 << 20), y[-1]:item())
others(0)
local z = hold(30)
print(memory("cuda").limit // (1 << 20), z[-1]:item())
]]):format(root))
local child = assert(io.popen(("GPUSH_FAKE_MEMORY=%d GPUSH_FAKE_OTHERS=%s/others \z
    %s/gpush %s/child.lua 2>&1"):format(100 * MIB, root, build, root)))
local out = child:read "a"
child:close()
t.is(out:gsub("%.%d+", ""), "39\nfalse\t39\n69\t0\n99\t0\n",
    "what others have is not ours, and what they give back is")
t.done()
