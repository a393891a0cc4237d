--!plain
-- Every op's in-place form where an operand is a view of what is written, against the op on copies:
-- the same values, or an error that says so. Driven from the op table.
local t = require "tap"
local g = require "gpush"

local function base() return (g.arange(1, 16):float() / 20):reshape(4, 4):contiguous() end
local views = { -- of the 4x4 tensor y: what is written, and what is read
    same = function(y) return y, y end,
    transposed = function(y) return y, y:t() end,
    shifted = function(y) return y:narrow(1, 1, 3), y:narrow(1, 2, 3) end,
    back = function(y) return y:narrow(1, 2, 3), y:narrow(1, 1, 3) end,
    row = function(y) return y, y:narrow(1, 2, 1):expand(4, 4) end,
    column = function(y) return y, y:narrow(2, 3, 1) end,
    into_transposed = function(y) return y:t(), y end,
}
local compared, refused = 0, 0
for name, row in pairs(g.ops()) do
    local mark, second = row.sig:match "^%a+(!?) [%w_]+,? ?(%a*)"
    local method = debug.getregistry()["gpush.tensor.methods"][name .. "_"]
    local both = second == "tensor" or second == "operand"
    if method and both and not row.random and (row.kind == "binary" or row.kind == "compare"
        or row.kind == "ternary" or mark == "!") then
        for view, make in pairs(views) do
            local to, from = make(base())
            local want_ok, want = pcall(g[name], to:clone(), from:clone())
            local ok, message = pcall(method, to, from)
            if ok and want_ok then
                compared = compared + 1
                local a, b = to:to "f64", want:to(to.dtype):to "f64"
                t.ok(a.shape[1] == b.shape[1] and a:eq(b):logical_or(a:ne(a):logical_and(b:ne(b)))
                    :all():item(), name .. "_ with a view: " .. view)
            elseif not ok then
                refused = refused + 1
                t.ok(tostring(message):find(name, 1, true), name .. "_ refuses by name: " .. view
                    .. " " .. tostring(message))
            end
        end
    end
end
t.ok(compared > 20, ("%d compared, %d refused"):format(compared, refused))
t.done()
