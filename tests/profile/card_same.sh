#!/bin/bash
# With a card and a fixed time of the host for an op, a program prints the same twice, digit for
# digit, also where the machine is busy meanwhile: its script, files and loader are counted, too.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
gpush=$build/gpush

dir=$(mktemp -d) || exit 1
trap 'kill $busy 2>/dev/null; rm -rf "$dir"' EXIT
cat >"$dir/train.lua" <<'END'
sim.host = 8e-6
manual_seed(1)
local model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)):to "sim"
local opt = optim.Adam(model:parameters(), { lr = 1e-3 })
local x, y = randn(256, 64):to "sim", randint(1, 10, { 256 }):to "sim"
local t0 = clock()
local prof = profile.run(function()
    for step = 1, 5 do
        local loss = cross_entropy(model(x), y)
        opt:zero_grad()
        loss:backward()
        opt:step()
        if step % 2 == 1 then print(loss:item()) end
    end
end)
print(("%.17g"):format(clock() - t0), prof.wall_ns)
print(prof:table { width = 200 })
print(sync.report(false))
print(timeit(function() return model(x) end, { print = false }))
local function digits(what, fn)
    local began = clock()
    fn()
    print(what, ("%.17g"):format(clock() - began))
end
npy.save("rows.npy", zeros(100, 64))
digits("text", function()
    local counts = {}
    for word in ("a b c a b a "):rep(100):gmatch "%a" do counts[word] = (counts[word] or 0) + 1 end
    return counts
end)
digits("file", function() return npy.load("rows.npy"):tolist() end)
digits("coroutine", function()
    local rows = coroutine.wrap(function() for i = 1, 50 do coroutine.yield({ i, i * i }) end end)
    for row in rows do tensor(row):to "sim" end
end)
local set = data.Dataset { size = 64, get = function(_, i)
    local sum = 0
    for k = 1, 100 * i do sum = sum + k % 7 end
    return npy.load("rows.npy")[i], sum
end }
for _, workers in ipairs { 0, 2 } do
    digits("loader", function()
        for _, rows in data.Loader { set, batch = 4, workers = workers, shuffle = true, seed = 1 }() do
            model(rows:to "sim"):sum():item()
        end
    end)
end
END
run() { (cd "$dir" && "$gpush" --card h200 train.lua 2>&1); }
first=$(run)
tap_is "$(grep -c 'modelled H200, host 8 us an op' <<<"$first")" 3 "the table, the report and timeit are labelled"
tap_is "$(run)" "$first" "a second run prints the same"
(while :; do :; done) &
busy=$!
tap_is "$(run)" "$first" "and a third beside a busy loop"
kill $busy
tap_is "$("$gpush" --card 2>&1 | head -1 | sed 's/.*: //')" "'--card' needs argument" "--card alone is an error"
"$gpush" --card v9 -e 'print(1)' >"$dir/out" 2>"$dir/err"
tap_is "$?/$(cat "$dir/out")" 1/ "an unknown card ends the program"
tap_ok "$(grep -q 'no card .v9. is known' "$dir/err"; echo $?)" "and says what is known"
tap_is "$("$gpush" --card t4 -e 'print(sim.card, sim.label)')" "t4	modelled T4" "--card sets sim.card"
# A sanitizer sees them all without a card.
[ -z "$GPUSH_SAN" ] || export FORK_PROGRAMS=30
# What sim promises of streams, failures and forks it keeps with a card, too.
for file in streams failures fork_errors fork_graphs; do
    out=$(LUA_INIT='sim.card = "h200"' "$root/tests/run" "$root/tests/tensor/device/$file.lua" 2>&1)
    tap_ok "$(grep -q '^1\.\.' <<<"$out" && ! grep -q '^not ok' <<<"$out"; echo $?)" "$file.lua passes with a card"
done
tap_done
