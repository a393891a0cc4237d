-- A job of ranks of which the last one has failures: job.lua FAULT:N:K, or FILE:N:K:ERRNO, as for
-- run.lua; N 0 prints how many there are on that rank. Each rank ends with the right result or an
-- error; none hangs.
local what = arg[1]
local x = linspace(-1, 1, 12):reshape(3, 4)
dist.init { timeout = 20 }
local fails = dist.rank == dist.size - 1
manual_seed(1)
local counts = what:match "^(%u+):0$"
if fails then os.getenv(counts and counts .. ":1000000000" or what) end
local m = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
local opt = optim.ZeroRedundancyOptimizer(m:parameters(), optim.Adam, { lr = 0.1 })
m(x * (dist.rank + 1)):sum():backward()
opt:step()
local sum = wait(dist.all_reduce(x, { async = true }))
local all = dist.all_gather(x[1])
checkpoint.save(os.getenv "HOME" .. "/job.safetensors", { model = m.module }, { sharded = true })
local seen = fails and os.getenv(what:match "^%u+:" .. "0")
if fails and counts then print(seen) end
local right = equal(sum, x * dist.size) and equal(all, cat { x[1], x[1] })
assert(right, "a wrong sum")
if not counts then print "fine" end
