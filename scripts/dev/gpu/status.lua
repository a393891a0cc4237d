-- What `:status` says of work in flight: at a prompt, products of 50 ms and more are queued by one
-- line and end in a later one, and the lines' device times together are to be what two events
-- around the products say. gpush status.lua DEVICE [small]: exit status 1 where they are not.
local device, small = arg[1], arg[2] == "small"
local n = small and 64 or 8192
local text = ([[
x, s = randn(%d, %d, {device = "%s"}), current_stream "%s"
y = x:matmul(x) synchronize()
:status on
a = s:record() for i = 1, 5 do y = x:matmul(x) end b = s:record()
z = 1
b:synchronize()
z = 2
print("events", a:elapsed(b))
]]):format(n, n, device, device)
local path = os.tmpname()
local f = assert(io.open(path, "w"))
f:write(text)
f:close()
local p = assert(io.popen(("'%s' -i <'%s' 2>&1"):format(os.getenv "GPUSH_PROGRAM", path)))
local said = p:read "a"
p:close()
os.remove(path)
local units, sum = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1 }, 0
for number, unit in said:gmatch "devices ([%d.]+) (%a+)" do sum = sum + number * units[unit] end
local events = tonumber(said:match "events%s+([%d.e-]+)")
local ok = events and sum > 0 and (small or math.abs(sum / events - 1) < 0.1)
print(("%s: :status counts %.4g ms of work in flight, events %.4g ms"):format(
    ok and "ok" or "WRONG", sum * 1e3, (events or 0) * 1e3))
if not ok then print(said) end
os.exit(ok and 0 or 1)
