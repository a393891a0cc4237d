-- The figures of the cards that sim can stand in for, against what their chips have: units, what
-- each does in a cycle, and clocks, as NVIDIA's and AMD's white papers and product briefs give
-- them; of an MI250 those of a die. A data sheet rounds these products, so 2 % are allowed.
local t = require "tap"

-- units: SMs; f32, f64: multiply-adds of an SM in a cycle; matrix: those of its tensor cores in 16
-- bits; clock, matrix_clock: GHz; bus: bits of the memory's bus, at gbps Gbit/s each; pcie: GT/s a
-- lane, of which 128 of 130 bits are data, on 16 lanes.
local CHIPS <const> = {
    h200 = { units = 132, f32 = 128, f64 = 64, matrix = 2048, clock = 1.98, matrix_clock = 1.83,
        bus = 6144, gbps = 6.25, memory = 141, pcie = 32 },
    h100 = { units = 132, f32 = 128, f64 = 64, matrix = 2048, clock = 1.98, matrix_clock = 1.83,
        bus = 5120, gbps = 5.23, memory = 80, pcie = 32 },
    a100 = { units = 108, f32 = 64, f64 = 32, matrix = 1024, clock = 1.41, matrix_clock = 1.41,
        bus = 5120, gbps = 3.186, memory = 80, pcie = 16 },
    v100 = { units = 80, f32 = 64, f64 = 32, matrix = 512, clock = 1.53, matrix_clock = 1.53,
        bus = 4096, gbps = 1.754, memory = 16, pcie = 8 },
    mi250 = { units = 104, f32 = 64, f64 = 64, matrix = 512, clock = 1.7, matrix_clock = 1.7,
        bus = 4096, gbps = 3.2, memory = 64, pcie = 16 },
    t4 = { units = 40, f32 = 64, f64 = 2, matrix = 512, clock = 1.59, matrix_clock = 1.59,
        bus = 256, gbps = 10.0, memory = 16, pcie = 8 },
}
-- What matrix units take: f64, at twice the rate of the others; f32, too; tf32 and bf16.
local MATRIX_F64 <const> = { h200 = true, h100 = true, a100 = true, mi250 = true }
local MATRIX_F32 <const> = { mi250 = true }
local MATRIX_TF32 <const> = { h200 = true, h100 = true, a100 = true }
local MATRIX_BF16 <const> = { h200 = true, h100 = true, a100 = true, mi250 = true }

local function near(key, name, is, expected)
    t.ok(math.abs(is / expected - 1) < 0.02, ("%s: %s is %.4g, of %.4g by its chip"):format(key,
        name, is, expected))
end

local n = 0
for key, card in pairs(sim.cards()) do
    local c = CHIPS[key]
    t.ok(c, key .. " has its chip here")
    local f32 = 2e9 * c.units * c.f32 * c.clock
    local f64 = 2e9 * c.units * c.f64 * c.clock
    local matrix = 2e9 * c.units * c.matrix * c.matrix_clock
    near(key, "f32", card.f32, f32)
    near(key, "f64", card.f64, f64)
    local f32_matrix = f32 * (MATRIX_F32[key] and 2 or 1)
    near(key, "f32_matrix", card.f32_matrix, f32_matrix)
    near(key, "f64_matrix", card.f64_matrix, f64 * (MATRIX_F64[key] and 2 or 1))
    near(key, "f16", card.f16, matrix)
    near(key, "bf16", card.bf16, MATRIX_BF16[key] and matrix or f32) -- else computed in f32
    near(key, "tf32", card.tf32, MATRIX_TF32[key] and matrix / 2 or f32_matrix)
    near(key, "bandwidth", card.bandwidth, 1e9 / 8 * c.bus * c.gbps)
    near(key, "memory", card.memory, 1e9 * c.memory)
    near(key, "pinned", card.pinned, 1e9 / 8 * 16 * c.pcie * 128 / 130)
    t.ok(card.pageable < card.pinned, key .. ": pageable memory is slower")
    n = n + 1
end
t.is(n, 6, "all cards")

t.done()
