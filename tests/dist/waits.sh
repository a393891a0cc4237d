#!/usr/bin/env bash
# Whom a collective keeps waiting: the host only where it needs the result, and then it is on the
# record as "collective", with the line.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
cat >x.lua <<'E2'
dist.init{timeout = 60}
local x = ones(100000)
local function busy(seconds) local t = clock() while clock() - t < seconds do end end
local function begin() -- rank 1 comes late, so that rank 0 waits however loaded the machine is
    dist.barrier()
    sync.reset()
    if dist.rank == 1 then busy(0.15) end
end
local function say(what, ...) print(("%s %d"):format(what, dist.rank), ...) end
local function ledger()
    local list = {}
    for _, l in ipairs(sync.lines()) do
        list[#list + 1] = ("%s:%d %s"):format(l.file, l.line, l.why)
    end
    return table.concat(list, ", ")
end
begin()
local y = dist.all_reduce(x) -- line 18
say("blocking", ledger())
begin()
local f, t = dist.all_reduce(x, {async = true}), clock()
repeat busy(0.05) until f:done() or clock() - t > 30 -- progress while Lua computes
say("done", f:done())
y = wait(f)
say("async", ledger())
begin()
f = dist.all_reduce(x, {async = true})
y = wait(f) -- line 28
say("waited", ledger())
local s = ones(100000, {device = "sim"})
synchronize()
begin()
y = dist.all_reduce(s) + 1
say("sim", ledger())
say("value", y[1]:item())
say("advice", (sync.report(false):match "async = true"))
local card = sync.explain("collective", "cpu", {print = false})
say("card", card.equal, card.waits <= 1, not card.text:find "This job has one rank")
begin()
say("error", sync.error(function() return select(2, pcall(dist.all_reduce, x)) end))
E2
ranks 2 x.lua
# rank 1 reads the clock while work is queued, on purpose
tap_is "$status $(grep -v 'clock: .* not in it' err | head -c 300)" "0 " "it runs"
is() { tap_is "$(grep -Ec "^$1" out)" "$2" "$3"; }
is $'blocking 0\tx.lua:18 collective$' 1 "on the cpu the host waits, at the collective's line"
is $'done .\ttrue$' 2 "a queued one is done while Lua computes"
is $'async .\t$' 2 "and then wait does not wait"
is $'waited 0\tx.lua:28 collective$' 1 "waiting early does, at wait's line"
is $'sim .\t$' 2 "on sim the host does not wait"
is $'card .\ttrue\ttrue\ttrue$' 2 "sync.explain runs its card on both ranks"
is $'value .\t3.0' 2 "ops after it follow it"
is 'error 0.*would wait' 1 "error mode refuses"

cat >warn.lua <<'E2'
sync.warn = true
if arg[1] then dist.init{timeout = 60} end
local x = ones(3, {device = "sim"})
for _ = 1, 40 do x:sum():item() end -- of which some find the device idle on a loaded machine
for _ = 1, dist.rank == 2 and 9 or 0 do x:amax():item() end
E2
for joined in '' yes; do
    ranks 3 warn.lua $joined
    tap_is "$(grep -c 'rank [0-2]: warn.lua:4: item waited' err)" 2 \
        "ranks warn once, and of the tenth wait${joined:+, in a job that they have joined}"
done
says '^rank 2: warn.lua:5: item waited' "a rank's own wait has its number"

if [ -e "$GPUSH_BUILD/fake/libgpush_cuda.so" ]; then
    echo 'if arg[1] then dist.init{timeout = 60} end print(ones(2, {device = "gpu"}).device)' >gpu.lua
    export GPUSH_CUDA_PLUGIN=$GPUSH_BUILD/fake/libgpush_cuda.so GPUSH_CUDA_LIBRARIES=$GPUSH_BUILD/fake
    for joined in '' yes; do
        GPUSH_FAKE_DRIVER=12080 ranks 2 gpu.lua $joined
        tap_is "$(grep -c '"gpu" is the simulated device here' err) $(grep -c sim:0 out)" "1 2" \
            "a driver that cannot be used: one rank says so${joined:+, in a job that they have joined}"
    done
fi
tap_done
