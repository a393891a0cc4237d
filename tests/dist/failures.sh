#!/usr/bin/env bash
# Ranks that differ, end, raise, hang or are killed: the others get an error that names the rank,
# the op and the line, and nobody waits without end.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
cat >x.lua <<'E2'
dist.init{timeout = 4}
local r, what = dist.rank, arg[1]
local x = ones(2)
if what == "shape" then dist.all_reduce(ones(2, 2 + r))
elseif what == "dtype" then dist.all_reduce(ones(2, {dtype = r == 0 and "f32" or "i32"}))
elseif what == "op" then dist.all_reduce(x, {op = r == 0 and "sum" or "max"})
elseif what == "order" then
    if r == 0 then dist.all_reduce(x) else dist.broadcast(x, 0) end
elseif what == "root" then dist.broadcast(x, r)
elseif what == "message" then
    if r == 0 then dist.send(ones(3), 1) else dist.recv(x, 0) end
elseif what == "group" then dist.group{r}
elseif what == "raise" then
    if r == 1 then error "boom" end
    dist.all_reduce(x)
elseif what == "exit" then
    if r == 1 then os.exit(3) end
    dist.all_reduce(x)
elseif what == "end" then
    if r == 1 then return end
    dist.all_reduce(x)
elseif what == "killed" then
    if r == 1 then os.execute "kill -9 $PPID" end
    dist.all_reduce(x)
elseif what == "hang" then
    if r == 1 then while true do end end
    dist.all_reduce(x)
elseif what == "sim" then
    local y = dist.all_reduce(ones(2 + r, {device = "sim"}))
    print(y)
elseif what == "caught" then
    local ok, err = pcall(dist.all_reduce, ones(2 + r))
    print("caught", ok, dist.all_reduce(x))
elseif what == "step" then -- after a rank that did not come none is in step any more
    local s, ok, err = dist.rank == 0
    if r == 1 then local t = clock() while clock() - t < 6 do end return end
    pcall(dist.all_reduce, x)
    ok, err = pcall(dist.all_reduce, x)
    io.stderr:write(tostring(err), "\n")
    os.exit(1)
end
E2
differ='dist\.[a-z_]+: ranks differ: rank 0 calls'
for case in \
    "shape|$differ dist.all_reduce\\(sum\\) of f32 2x2 at x.lua:4, rank 1 dist.all_reduce\\(sum\\) of f32 2x3 at x.lua:4" \
    "dtype|$differ .* of f32 2 at x.lua:5, rank 1 .* of i32 2 at x.lua:5" \
    "op|$differ dist.all_reduce\\(sum\\) .*, rank 1 dist.all_reduce\\(max\\)" \
    "order|$differ dist.all_reduce\\(sum\\) of f32 2 at x.lua:8, rank 1 dist.broadcast with root 0 of f32 2 at x.lua:8" \
    "root|$differ dist.broadcast with root 0 .*, rank 1 dist.broadcast with root 1" \
    'message|dist.recv: ranks differ: rank 1 calls dist.recv .* of f32 2 at x.lua:11, rank 0 dist.send .* of f32 3 at x.lua:11' \
    'group|dist.group: ranks differ: number 1 of the list is 0 on rank 0, and 1 on rank 1' \
    'raise|x.lua:15: dist.all_reduce: rank 1 has ended \(.*x.lua:14: boom\)' \
    'exit|x.lua:18: dist.all_reduce: rank 1 has ended \(it called os.exit with a failure\)' \
    'end|x.lua:21: dist.all_reduce: rank 1 has ended \(its script came to its end\)' \
    'killed|x.lua:24: dist.all_reduce: rank 1 has ended \(its process was killed\)' \
    'hang|x.lua:27: dist.all_reduce: rank 1 did not come within 4 s' \
    'step|an earlier collective has failed, and ranks are no longer in step: dist.all_reduce: rank 1 did not come' \
    'sim|ranks differ: .* of f32 2 at x.lua:29, rank 1 .* of f32 3 at x.lua:29 \(queued at x.lua:29 on sim:0\)'; do
    ranks 2 x.lua "${case%%|*}"
    says "${case#*|}" "${case%%|*}: the error names both sides"
    [ "$status" != 0 ] && awk "BEGIN { exit !($seconds < 20) }"
    tap_ok $? "${case%%|*}: the job fails, and ends" "status $status after $seconds s"
done
ranks 2 x.lua caught
tap_is "$status $(grep -c 'caught.*false.*2.0, 2.0' out)" "0 2" "after ranks that differed, the next collective works"
[ ! -s err ]
tap_ok $? "and nothing is said" "$(cat err)"

echo 'dist.init() print(dist.size, dist.all_reduce(ones(2)))' >one.lua
tap_is "$("$GPUSH_BUILD/gpush" one.lua 2>&1)" $'1\ttensor({1.0, 1.0}, f32 2 cpu)' "one process needs no launcher"
tap_is "$(GPUSH_MPI_PLUGIN=/nowhere.so "$GPUSH_BUILD/gpush" one.lua 2>&1 | head -1)" $'1\ttensor({1.0, 1.0}, f32 2 cpu)' "nor MPI"
GPUSH_MPI_PLUGIN=/nowhere.so ranks 2 one.lua
says 'a launcher started 2 processes, but the plug-in for MPI is not there .*libopenmpi-dev' "without the plug-in: what to install"
tap_done
