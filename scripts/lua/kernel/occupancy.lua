--!plain
-- How many blocks of a kernel a multiprocessor of a card holds at once, by the limits of its
-- compute capability: threads, blocks, shared memory, registers. Computed as CUDA's documentation
-- does ("CUDA C++ Programming Guide", technical specifications by compute capability), no
-- measurement. For the print of a kernel.
local require = ...
local gpush = require "gpush"

local WARP <const>, REGISTERS <const> = 32, 65536
local UNIT <const>, PARTS <const> = 256, 4 -- registers are given to a warp by these, of a quarter
local KB <const> = 1024

-- By capability: threads, blocks, bytes of shared memory, and those of each block that are CUDA's.
local LIMITS <const> = {
    ["7.0"] = { 2048, 32, 96 * KB, 0 }, ["7.5"] = { 1024, 16, 64 * KB, 0 },
    ["8.0"] = { 2048, 32, 164 * KB, KB }, ["8.6"] = { 1536, 16, 100 * KB, KB },
    ["8.7"] = { 1536, 16, 164 * KB, KB }, ["8.9"] = { 1536, 24, 100 * KB, KB },
    ["9.0"] = { 2048, 32, 228 * KB, KB }, ["10.0"] = { 2048, 32, 228 * KB, KB },
    ["12.0"] = { 1536, 24, 100 * KB, KB },
}
-- Of cards that are modelled; an MI250 has other limits.
local CAPABILITY <const> = { h200 = "9.0", h100 = "9.0", a100 = "8.0", v100 = "7.0", t4 = "7.5" }

-- The name and the limits of the card that has tensors of that device, or that is modelled; without
-- either those of an H200, for which sim stands. nil: of that card they are not known.
local function card_of(device)
    if device then
        local major, minor = gpush.cuda.get_device_capability(device)
        return device, LIMITS[("%d.%d"):format(major, minor)]
    end
    local modelled = gpush.sim.card or "h200"
    local capability = CAPABILITY[modelled]
    return type(modelled) == "string" and modelled:upper(), LIMITS[capability]
end

local function up(n, unit) return (n + unit - 1) // unit * unit end

-- Blocks of that many threads, bytes of shared memory and registers a thread (nil: not known) that
-- one multiprocessor holds, and what limits them.
local function blocks_of(limits, threads, shared, registers)
    local warps = up(threads, WARP) // WARP
    local counts = { { limits[1] // (warps * WARP), "threads" }, { limits[2], "blocks" } }
    local bytes = up(shared, 128) + limits[4]
    if bytes > 0 then counts[3] = { limits[3] // bytes, "shared memory" } end
    if registers and registers > 0 then
        local fit = REGISTERS // up(registers * WARP, UNIT) // PARTS * PARTS
        counts[#counts + 1] = { fit // warps, "registers" }
    end
    local least = counts[1]
    for _, c in ipairs(counts) do if c[1] < least[1] then least = c end end
    return least[1], least[2]
end

-- In words, for a block of that many threads; nil where the card is not known. device: the card's,
-- nil: none is there; registers: nil where they are not known.
local function text(device, threads, shared, registers)
    local name, limits = card_of(device)
    if not name or not limits then return nil end
    local blocks, by = blocks_of(limits, threads, shared, registers)
    local share = blocks * up(threads, WARP) / limits[1]
    return ("occupancy %.3g %%, computed for %s: %d block%s of %d threads a multiprocessor, \z
        limited by %s%s"):format(share * 100, name, blocks, blocks == 1 and "" or "s", threads, by,
        registers and "" or " (registers not counted)")
end

return { text = text, blocks = blocks_of, limits = LIMITS }
