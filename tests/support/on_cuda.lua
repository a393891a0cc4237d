--!plain
-- Runs a test file unchanged with the CUDA device in place of sim; where tests/run does so, that is
-- the stand-in. Tests that loop over cpu and sim run on CUDA only: the test itself has run on the
-- cpu.
local path = arg[1]
local file = assert(io.open(path))
local text = file:read "a"
file:close()
local function cuda(before, after) return before .. "cuda" .. after end
text = text:gsub('{ ?"cpu", "sim" ?}', '{"sim"}'):gsub("([\"'])sim([\"':])",
    cuda):gsub("( )sim(:%d)", cuda)
assert(load(text, "@" .. path))()
