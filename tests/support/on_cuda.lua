--!plain
-- Runs tests/NAME.lua unchanged with the CUDA device, which is the stand-in here, in place of sim.
-- Tests that loop over cpu and sim run on CUDA only: the test itself has run on the cpu.
return function(name)
    local path = os.getenv "GPUSH_ROOT" .. "/tests/" .. name .. ".lua"
    local file = assert(io.open(path))
    local text = file:read "a"
    file:close()
    local function cuda(before, after) return before .. "cuda" .. after end
    text = text:gsub('{ ?"cpu", "sim" ?}', '{"sim"}'):gsub("([\"'])sim([\"':])",
        cuda):gsub("( )sim(:%d)", cuda)
    assert(load(text, "@" .. path))()
end
