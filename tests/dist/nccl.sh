#!/usr/bin/env bash
# Collectives on cuda by NCCL, on stand-ins for CUDA and NCCL: results, training, what the host
# waits for, and ranks that are not in step.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
export GPUSH_CUDA_PLUGIN=$GPUSH_BUILD/fake/libgpush_cuda.so GPUSH_NCCL_PLUGIN=$GPUSH_BUILD/fake/libgpush_nccl.so
export GPUSH_CUDA_LIBRARIES=$GPUSH_BUILD/fake/nccl:$GPUSH_BUILD/fake
export GPUSH_FAKE_DEVICES=3
unset CUDA_VISIBLE_DEVICES LOCAL_RANK SLURM_LOCALID
[ -e "$GPUSH_CUDA_PLUGIN" ] || tap_skip_all "the stand-in for CUDA was not built"
cd "$HOME" || exit 1
ranks 3 "$GPUSH_ROOT/tests/support/dist/collectives.lua" cuda
tap_is "$status $(grep -c ' 0 wrong' out)" "0 3" "collectives of 3 ranks"
grep 'wrong:' out | head -5 | sed 's/^/# /'
[ "$status" = 0 ] || head -20 err | sed 's/^/# /'
ranks 2 "$GPUSH_ROOT/tests/support/dist/ddp.lua" cuda
tap_is "$status $(grep -c ': 0 wrong' out)" "0 2" "training of 2 ranks: $(grep wrong: out | head -3) $(head -c 300 err)"

cat >x.lua <<'E2'
dist.init{timeout = 60}
local x = ones(1000, {device = "cuda"})
local what = arg[1]
dist.all_reduce(x)
synchronize()
dist.barrier() -- by MPI
sync.reset()
local function report(...) print(("rank %d:"):format(dist.rank), ...) end
local function busy(seconds) local t = clock() while clock() - t < seconds do end end
local function failed(fn)
    local ok, message = pcall(fn)
    report(ok, (message:gsub("%s+", " ")))
end
if what == "waits" then
    local y = dist.all_reduce(x) + 1
    report(#sync.lines(), y[1]:item())
    local f = dist.all_reduce(x, {async = true})
    report("async", wait(f)[1]:item())
    local p = profile.run(function() dist.all_reduce(x) end)
    report("record", p:table{group = "line"}:find "x.lua" ~= nil)
elseif what == "shapes" then
    local y = dist.all_reduce(x["1:" .. 1000 - 993 * dist.rank])
    failed(function() return y[1]:item() end)
    failed(function() return dist.all_reduce(x) end)
elseif what == "late" then
    dist.init{timeout = 1}
    if dist.rank == 1 then busy(2) return end
    local y = dist.all_reduce(x)
    failed(function() return y[1]:item() end)
elseif what == "ended" then
    if dist.rank == 1 then error "it has had enough" end
    local y = dist.all_reduce(x)
    failed(function() return y[1]:item() end)
elseif what == "message" then
    local y = zeros(3, {device = "cuda"})
    if dist.rank == 1 then dist.send(x["1:3"], 0) else dist.recv(y, 1) end
    report(#sync.lines(), dist.rank == 1 or (y + 1)[3]:item())
    if dist.rank == 1 then dist.send(x["1:4"], 0) else dist.recv(y, 1) end
    failed(function() return dist.rank == 0 and y[1]:item() or error "sent" end)
    dist.init{timeout = 1}
    if dist.rank == 1 then busy(2) return end
    failed(function() return dist.recv(y, 1)[1]:item() end)
elseif what == "pinned" then
    local fake = require "fake"
    local MIB <const> = 1 << 20
    local before = fake.count "pinned bytes"
    local function held() return (fake.count "pinned bytes" - before) / MIB end
    local function message(mib)
        local y = zeros(mib * MIB, {device = "cuda", dtype = "u8"})
        if dist.rank == 1 then dist.send(y, 0) else dist.recv(y, 1) end
        local most = held()
        synchronize()
        fake.fault "slow=1:100"
        local z = x + 1
        synchronize()
        return most, held()
    end
    report("pinned", message(9))
    report("pinned", message(9))
    report("pinned", message(20))
    report("pinned", message(9))
    cuda.empty_cache()
    report("pinned", held())
elseif what == "meet" then
    local fake = require "fake"
    local group = dist.group { 0, 1 }
    if dist.rank == 1 then
        os.execute "sleep 3"
    else
        fake.fault "slow=1+:5"
        fake.start [[
            local x, longest = gpush.ones(4, { device = "cuda" }), 0
            for _ = 1, 20 do
                local begin = gpush.clock()
                x = x + 1
                x:tolist()
                longest = math.max(longest, gpush.clock() - begin)
            end
            return longest]]
    end
    dist.all_reduce(x, { group = group })
    if dist.rank == 0 then report("longest", fake.join() < 1.5 and "short" or "long") end
elseif what == "network" then
    failed(function()
        local y
        for _ = 1, 3 do y = dist.all_reduce(x) end
        return y[1]:item()
    end)
end
E2
is() { tap_is "$(grep -cE -- "$1" out)" "$2" "$3"; }
ranks 2 x.lua waits
tap_is "$status $(sort err)" "0 gpush: rank 0 takes cuda:0 of 3 cards (OMPI_COMM_WORLD_LOCAL_RANK=0)
gpush: rank 1 takes cuda:1 of 3 cards (OMPI_COMM_WORLD_LOCAL_RANK=1)" "it runs; each rank says which card it takes"
is $'rank .:\t0\t3.0' 2 "the host does not wait for a collective, and ops after it follow it"
is $'async\t2.0' 2 "a future"
is $'record\ttrue' 2 "and its line in a profile"
ranks 2 x.lua shapes
is 'false.x.lua:[0-9]+: dist.all_reduce: ranks differ: rank 0 calls dist.all_reduce\(sum\) of f32 1000 at x.lua:[0-9]+, rank 1 .* of f32 7 at' 2 \
    "different shapes: an error on both ranks, with lines"
is 'false.*an earlier collective has failed, and ranks are no longer in step' 2 "and no collective follows"
ranks 2 x.lua late
is 'rank 0:.*false.*rank 1 (did not come within 1 s|has ended)' 1 "a rank that does not come"
ranks 2 x.lua ended
is 'rank 0:.*false.*rank 1 has ended \(.*it has had enough\)' 1 "a rank that has ended"
LUA_CPATH="$GPUSH_BUILD/fake/?.so;;" GPUSH_FAKE_MEMORY=$((1 << 30)) ranks 2 x.lua pinned
tap_is "$(grep 'rank 0:.pinned' out | cut -f3- | tr '\t\n' ' |')" "9.0 9.0|9.0 9.0|20.0 0.0|9.0 9.0|0.0|" \
    "messages hold the memory of their size; large ones give it back after a wait, others with the cache"
ranks 2 x.lua message
is 'rank 0:.0.2.0$' 1 "the host does not wait for a message"
is 'rank 0:.false.x.lua:[0-9]+: dist.recv: ranks differ: rank 0 calls dist.recv .* of f32 3 at x.lua:[0-9]+, rank 1 dist.send .* of f32 4 at' 1 \
    "a message of another shape: an error with both lines"
is 'rank 0:.false.x.lua:[0-9]+: dist.recv: rank 1 (did not come within 1 s|has ended)' 1 "a message that does not come"
LUA_CPATH="$GPUSH_BUILD/fake/?.so;;" ranks 2 x.lua meet
is 'rank 0:.longest.short' 1 "a thread that waits is not held up while ranks meet: $(grep longest out) $(head -c 200 err)"
FAKE_NCCL_FAIL=3 ranks 2 x.lua network
is 'false.*NCCL failed: remote process exited or there was a network error' 2 "an error of NCCL's own"

"$GPUSH_BUILD/gpush" doctor >out 2>&1
is 'ok +NCCL +2\.27\.3|ok +plug-in +for NCCL, by the header of 2\.27\.3' 2 "doctor shows its version, and the plug-in"

# ---- a card for each rank ----

one="rank 0 \\(cuda:0\\) and rank 1 \\(cuda:0\\) are on one card, stand-in for tests \\(not a GPU\\)"
GPUSH_FAKE_DEVICES=1 ranks 2 x.lua waits
says "dist.all_reduce: $one at 0000:01:00.0, and NCCL needs one for each rank" "two ranks on one card: an error names both"
cat >own.lua <<'E2'
local x = ones(3, {device = "cuda"})
print(dist.rank, x.device, ones(1, {device = "gpu"}).device, cuda.get_device_name())
print(pcall(function() return (dist.all_reduce(x) + 1)[1]:item() end))
E2
# as where Slurm shows each rank one card: its own, or all the same
cat >visible.sh <<'E2'
export CUDA_VISIBLE_DEVICES=$1
[ "$1" != own ] || CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK
exec "$GPUSH_BUILD/gpush" own.lua
E2
visible() { mpirun --allow-run-as-root --oversubscribe -n 2 bash visible.sh "$1" >out 2>err; }
visible own
is '^true.3.0$' 2 "each rank sees a card of its own"
is $'^[01]\tcuda:0\tcuda:0\t' 2 "which is cuda:0 for each"
says 'rank 1 takes cuda:0 of 1 card \(OMPI_COMM_WORLD_LOCAL_RANK=1, CUDA_VISIBLE_DEVICES=1\)$' "and each says so"
visible 2
is "false.*$one at 0000:03:00.0" 2 "each sees the same card"
visible MIG-1-0
is "false.*$one MIG 1g.10gb at 0000:02:00.0.*; slices \\(MIG\\) of one count as one" 2 "or a slice of it"
visible 2,0,1
is $'^0\tcuda:0\tcuda:0\t|^1\tcuda:1\tcuda:1\t' 2 "each takes its own of those that are seen"
is '^true.3.0$' 2 "in their order"
GPUSH_FAKE_DEVICES=2 ranks 3 own.lua
is "false.*rank 0 \\(cuda:0\\) and rank 2 \\(cuda:0\\) are on one card" 3 "more ranks than cards: collectives name two of one card"
says 'rank 2 takes cuda:0 of 2 cards \(.*\); ranks share cards$' "which they say at the start"
card() { env "$@" "$GPUSH_BUILD/gpush" -e 'print(ones(1, {device = "cuda"}).device)'; }
got=$(card LOCAL_RANK=2)$(card LOCAL_RANK=-1)$(card MPI_LOCALRANKID=1)$(card MV2_COMM_WORLD_LOCAL_RANK=1)$(card SLURM_LOCALID=2)
tap_is "$got$(card SLURM_LOCALID=2 MPI_LOCALRANKID=1 LOCAL_RANK=0)$(card)" "cuda:2cuda:0cuda:1cuda:1cuda:2cuda:0cuda:0" \
    "every launcher's variable; the user's own goes first"
SLURM_LOCALID=2 CUDA_VISIBLE_DEVICES=1,0 "$GPUSH_BUILD/gpush" doctor >out 2>&1
is 'ok +ranks +"cuda" is cuda:0 here; local rank 2 by SLURM_LOCALID; CUDA_VISIBLE_DEVICES=1,0' 1 "doctor says which card a rank takes"
"$GPUSH_BUILD/gpush" doctor >out 2>&1
is 'ok +ranks +"cuda" is cuda:0 here; of several ranks each takes the card of its local rank' 1 "and of whom no launcher started"

cat >lacks.lua <<'E2'
print(select(2, pcall(dist.all_reduce, ones(2, {device = "cuda"}))))
print(dist.all_reduce(ones(2)):sum():item())
E2
GPUSH_NCCL_PLUGIN=/nowhere.so ranks 2 lacks.lua
is 'dist.all_reduce: needs the plug-in for NCCL, libgpush_nccl.so, which is not there \(/nowhere.so.*nccl.h' 2 \
    "without the plug-in: what to install"
is '^4.0$' 2 "and collectives on cpu work"
GPUSH_NCCL_PLUGIN=/nowhere.so "$GPUSH_BUILD/gpush" doctor >out 2>&1
is 'for NCCL: /nowhere.so' 1 "doctor shows that it is not there"

export GPUSH_CUDA_LIBRARIES=$GPUSH_BUILD/fake
"$GPUSH_BUILD/gpush" doctor >out 2>&1
if grep -q 'ok  NCCL' out; then
    tap_skip "NCCL is installed here"
else
    ranks 2 x.lua waits
    says 'dist.all_reduce: needs NCCL: libnccl.so.2 was not found .*nvidia-nccl-cu1' \
        "without NCCL an error says what to install"
fi
tap_done
