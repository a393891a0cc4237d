--!plain
-- A PATH without GCC: what has to be compiled is an error that names the package, and formulas are
-- computed as ever.
local t = require "tap"

local folder, script = os.tmpname(), os.tmpname()
os.execute(("rm %s; mkdir %s %s/home"):format(folder, folder, folder))
local file <close> = assert(io.open(script, "w"))
file:write [=[
local function said(fn, ...) print((select(2, pcall(fn, ...)))) end
local power = elementwise("T x, i32 n", "T z", "z = 1; for (int k = 0; k < n; k++) z *= x;",
    "power")
said(power, tensor {1.0, 2.0}, 3)
said(elementwise("T x", "T z", "z = x; if (x < 0) z = -x;", "size"), tensor {-1.0})
said(cuda.kernel, "__global__ void one(int *y) { *y = 1; }")
said(cuda.module, "__global__ void two(int *y) { *y = 2; }")
local x = tensor({3.0, 4.0}, {requires_grad = true})
local square = elementwise("T x", "T z", "z = x * x", "square")(x)
square:sum():backward()
print(square, x.grad)
print(reduction {"T x", "T y", map = "x * x", reduce = "a + b", post = "y = sqrt(a)"}(x:detach()))
print(elementwise("raw f32 x", "f32 z", "z = x[i] + i", "ramp")(ones(3), {size = 3}))
]=]
file:close()
local run <close> = io.popen(("PATH=%s XDG_CACHE_HOME=%s/home %s/gpush %s 2>&1"):format(folder,
    folder, os.getenv "GPUSH_BUILD", script))
local lines = {}
for line in run:lines() do lines[#lines + 1] = line end
os.execute(("rm -r %s %s"):format(folder, script))

local WHY <const> = ": it cannot be compiled, which GCC does (package gcc): there is no gcc or cc \z
    in PATH"
for i, name in ipairs { "power", "size", "one", "two" } do
    t.ok(lines[i]:find(name .. WHY, 1, true), name .. " names the package that it needs", lines[i])
end
t.is(lines[5], "tensor({ 9.0, 16.0}, f32 2 cpu requires_grad)\ttensor({6.0, 8.0}, f32 2 cpu)",
    "a formula and its derivative need none")
t.is(lines[6], "tensor(5.0, f32 scalar cpu)", "nor a reduction")
t.is(lines[7], "tensor({1.0, 2.0, 3.0}, f32 3 cpu)", "nor what reads by index")
t.is(#lines, 7, "and that is all")
t.done()
