--!plain
-- Runs tests/lua/NAME.lua as it stands with the CUDA device, which is the stand-in here, in the place of sim.
return function(name)
    local path = os.getenv "GPUSH_ROOT" .. "/tests/lua/" .. name .. ".lua"
    local file = assert(io.open(path))
    local text = file:read "a"
    file:close()
    local function cuda(before, after) return before .. "cuda" .. after end
    text = text:gsub("([\"'])sim([\"':])", cuda):gsub("( )sim(:%d)", cuda)
    assert(load(text, "@" .. path))()
end
