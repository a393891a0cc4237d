--!plain
-- Runs tests/NAME.lua as it stands with the CUDA device, which is the stand-in here, in the place
-- of sim; what is done on the cpu and then the same on sim is done on CUDA only: the test itself
-- has had it on the cpu.
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
