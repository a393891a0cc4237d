-- The lab my_kernel, at a small size: bugs are found, and its conclusions are its numbers, which
-- are worked out by hand.
local t = require "tap"
local root, build = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD"
require "own_kernels".need_compiler()

local function lab(options)
    local p <close> = io.popen(("'%s/gpush' '%s/scripts/labs/my_kernel.lua' %s 2>&1"):format(build,
        root, options))
    return p:read "a"
end

local function has(out, want, name)
    if t.ok(out:find(want, 1, true), name) then return end
    io.stderr:write((out:gsub("[^\n]+", "# %0")))
end

-- 64 x 64 elements are 128 requests each way; a naive write needs 32 sectors, others 4.
local out = lab "--size 64"
has(out, "modelled H200", "times are modelled")
has(out, "hasty: race at line 9, block 0,0 thread", "the missing barrier is found")
has(out, "greedy: out of bounds write at line 5, block 0,0 thread",
    "and the row that is one too far")
has(out, "bugs found: both", "which the result says")
has(out, "naive    0.15 MB moved, of 0.03 at least; 0 conflicts; right: true", "naive")
has(out, "tile     0.03 MB moved, of 0.03 at least; 3968 conflicts; right: true", "a tile")
has(out, "padded   0.03 MB moved, of 0.03 at least; 0 conflicts; right: true", "a padded tile")
has(out, "the tile moves 4.5 times less", "what the tile saves")
has(out, "saves 3968 of 4224 passes", "and the column")
has(out, "Roofline", "the roofline")
-- 1 us of a pass, and 147,456 bytes in 35.7 ns at 0.86 of 4.8 TB/s.
t.ok(out:find "naive%s+[%d.]+%%%s+8.000us%s+[%d.]+%%%s+8.000us%s+8.000us%s+[%d.]+%%%s+1.036us",
    "the naive kernel's time is that of its sectors")
out = lab "--size 40 --device cpu"
t.ok(not out:find "Roofline", "no times on the cpu")
has(out, "right: true", "sizes that are no multiple of a tile")
t.done()
