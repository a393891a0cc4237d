--!plain
-- For tests of cuda.kernel: checked kernels that are right, and those with a bug.
local t = require "tap"
local g = require "gpush"
local own = {}

-- Ends the test where no kernel can be compiled; cxx: of C++.
function own.need_compiler(cxx)
    local found <close> = io.popen(cxx and "command -v g++ || command -v c++"
        or "command -v gcc || command -v cc")
    if not found:read "a":find "/" then t.skip_all "no compiler" end
end

function own.f32(n) return g.arange(1, n, { dtype = "f32" }) end
function own.i32(n) return g.arange(0, n - 1, { dtype = "i32" }) end
function own.zeros(n, dtype) return g.zeros(n, { dtype = dtype or "f32" }) end

-- right(name, text, run): run(kernel) returns the result, what it should be, and how far off it may
-- be; and nothing is found.
function own.right(name, text, run)
    local ok, got, want, atol = pcall(function() return run(g.cuda.kernel(text)) end)
    if not ok then return t.is(got, "no finding", name) end
    if atol then return t.close(got, want, atol, name) end
    t.is(got, want, name)
end

-- planted(name, text, run, wants...): run(kernel) raises a message that has each of wants.
function own.planted(name, text, run, ...)
    local made, kernel = pcall(g.cuda.kernel, text)
    local ok, message = false, kernel
    if made then ok, message = pcall(run, kernel) end
    message = tostring(message)
    for _, want in ipairs { ... } do
        if ok or not message:find(want, 1, true) then
            return t.is(ok and "no finding" or message, want, name)
        end
    end
    t.is(made, true, name)
end

return own
