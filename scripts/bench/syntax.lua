-- What tensor syntax costs plain Lua: the same loops in lua5.4 and in gpush, run in turn;
-- nanoseconds per test. usage: gpush scripts/bench/syntax.lua
local rounds, count = 9, 1000000

-- Each case is the body of a loop over i = 1, n; x y are unknown numbers, b is a boolean, t a table
-- of them, f() returns 1. limit: the most that gpush may take longer. Code that is not rewritten
-- may differ by noise only.
local cases = {
    { "if x < y", "if x < y then c = i end", 0 },
    { "if t.x >= t.y", "if t.x >= t.y then c = i end", 0 },
    { "while k < 3", "local k = 0 while k < 3 do k = k + 1 end", 0 },
    { "if i % 3 == 0", "if i % 3 == 0 then c = i end", 0 },
    { "if type(x) == 'table'", "if type(x) == 'table' then c = i end", 0 },
    { "if #s == 3", "if #s == 3 then c = i end", 0 },
    { "if t.x == nil", "if t.x == nil then c = i end", 0 },
    { "local k = x + 1", "local k = x + 1", 0 },
    { "if b", "if b then c = i end", 25 },
    { "if not b", "if not b then c = i end", 25 },
    { "if t.b", "if t.b then c = i end", 25 },
    { "if f()", "if f() then c = i end", 25 },
    { "k = b and x or y (two)", "local k = b and x or y", 50 },
    { "k = x or y", "local k = x or y", 25 },
    { "if x == 0", "if x == 0 then c = i end", 25 },
    { "if x ~= 1", "if x ~= 1 then c = i end", 25 },
    { "if x == y", "if x == y then c = i end", 25 },
    { "if t.x == 0", "if t.x == 0 then c = i end", 25 },
    { "if t.x == y", "if t.x == y then c = i end", 25 },
    { "if t.x == t.y", "if t.x == t.y then c = i end", 25 },
    { "if s == t.s (strings)", "if s == t.s then c = i end", 25 },
    { "if t.t == t.u (tables)", "if t.t == t.u then c = i end", 25 },
    { "k = x == 0", "local k = x == 0", 25 },
    { "k = x == y", "local k = x == y", 25 },
    { "k = t.x == t.y", "local k = t.x == t.y", 25 },
    { "k = x < 3", "local k = x < 3", 25 },
    { "k = x < y", "local k = x < y", 25 },
    { "k = t.x < t.y", "local k = t.x < t.y", 25 },
    { "k = t.s < t.r (strings)", "local k = t.s < t.r", 25 },
}

local function measure()
    local head = "local n, x, y, b, s, t, f = ... local c, clock = 0, os.clock local start = \z
        clock() for i = 1, n do "
    local t = { x = 1, y = 2, b = true, s = "abc", r = "abd", t = {}, u = {} }
    local function f() return 1 end
    local empty = load(head .. "end return clock() - start")
    for i = 0, #cases do
        local run = i == 0 and empty or load(head .. cases[i][2] .. " end return clock() - start")
        print(string.format("%.3f", run(count, 1, 2, true, "abc", t, f) / count * 1e9))
    end
end

local function numbers(command)
    local pipe <close> = assert(io.popen(command))
    local list = {}
    for line in pipe:lines() do list[#list + 1] = tonumber(line) end
    assert(#list == #cases + 1, command .. " failed")
    return list
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- The minimum is the cost of the code; the rest is other work of the machine.
local function least(list) return math.min(table.unpack(list)) end

local function compare()
    local own = arg[-1]
    for i = -1, -100, -1 do own = arg[i] or own end -- the program, before its options
    local stock, ours = {}, {}
    for i = 1, #cases + 1 do stock[i], ours[i] = {}, {} end
    for _ = 1, rounds do
        local a, b = numbers("lua5.4 " .. quoted(arg[0]) .. " --measure"),
            numbers(quoted(own) .. " " .. quoted(arg[0]) .. " --measure")
        for i = 1, #a do
            stock[i][#stock[i] + 1] = a[i]
            ours[i][#ours[i] + 1] = b[i]
        end
    end
    local over = 0
    print(string.format("%-26s %9s %9s %9s %7s", "ns per test", "lua5.4", "gpush", "more", "limit"))
    for i, case in ipairs(cases) do
        local a, b, limit = least(stock[i + 1]), least(ours[i + 1]), case[3]
        local slack = limit == 0 and math.max(1, a * 0.1) or 0 -- the noise of two programs
        local mark = b - a > limit + slack and " over" or ""
        if b - a > limit + slack then over = over + 1 end
        print(string.format("%-26s %9.1f %9.1f %9.1f %7d%s", case[1], a, b, b - a, limit, mark))
    end
    print(string.format("empty loop: %.1f and %.1f; %d over their limit", least(stock[1]),
        least(ours[1]), over))
    os.exit(over == 0)
end

if arg[1] == "--measure" then measure() else compare() end
