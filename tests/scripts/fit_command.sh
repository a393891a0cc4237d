#!/usr/bin/env bash
# gpush fit: whether a run fits in a card's memory, its peak and whose it is; the card's own memory,
# of which pages are taken only where they are written, and the host's, which an error names.
. "$(dirname "$0")/../support/tap.sh"
cd "$TMPDIR" || exit 1
gpush=$GPUSH_BUILD/gpush

# contains TEXT PATTERN NAME
contains() { tap_empty "$(grep -qE "$2" <<<"$1" || printf 'no %s in: %s' "$2" "$1")" "$3"; }

# 3 x 64 MiB: a and b are held, c is what the sum of both takes.
cat >run.lua <<'END'
local a = ones(16 << 20, {device = "gpu"})
local b = a * 2
local c = (a + b):sum()
io.write(arg[1] or "", " ", c:item(), "\n")
END
out=$("$gpush" fit run.lua -- --lr 2>report)
tap_is "$? $out" "0 --lr 50331648" "the script runs, with its arguments"
contains "$(cat report)" "peak: 201.33 MB on sim:0" "the peak is three blocks of 64 MiB"
contains "$(cat report)" "modelled: counted on sim" "it says that it is modelled"
tap_is "$(sed -nE 's/^ *([0-9.]+ MB) +(ones|mul|add) +(.*)/\1 \2 \3/p' report | sort -k3)" \
    "67.11 MB add run.lua:3
67.11 MB mul run.lua:2
67.11 MB ones run.lua:1" "whose it is, by op and line"
tap_is "$(grep -cE '^(H200|H100|A100|V100|MI250|T4) .* fits, ' report)" 6 "it fits in each card"

# 64 MiB are held, and each step makes 32 that wait for the collector.
cat >garbage.lua <<'END'
local held = empty(16 << 20, {device = "gpu"})
for _ = 1, 10 do empty(8 << 20, {device = "gpu"}) end
END
"$gpush" fit garbage.lua 2>report
tap_is "$(sed -n 's/^peak: //p' report)" "100.66 MB on sim:0" "the garbage of earlier steps is not in the peak"
contains "$(cat report)" "nor what waits for Lua's collector" "which it says"

# 16 GB of which 3 numbers are written.
cat >large.lua <<'END'
local x = empty(4000000001, {device = "gpu"})
x["1:3"]:fill_(7)
print(x["1:3"]:sum():item())
END
out=$("$gpush" fit large.lua 2>report)
tap_is "$? $out" "0 21.0" "pages are taken only where they are written"
tap_is "$(grep -cE '^(T4|V100) .* does not fit' report)" 2 "17 GB do not fit in 16"
tap_is "$(grep -cE '^(H200|H100|A100|MI250) .* fits, ' report)" 4 "but in 64"
tap_is "$(sed -n 's/^gpush fit: //p' report)" "the exit status is 0, as it fits in some; --card v100 asks for that card alone" "which is said with the option"
echo 'local x = empty(3980000000, {device = "gpu"})' >narrow.lua
"$gpush" fit narrow.lua 2>report
tap_is "$(sed -nE 's/^(T4|V100) .* (fits.*)/\2/p' report | sort -u)" "fits if context and libraries take less than 78.42 MB" "99.5 % of a card are no room"
"$gpush" fit --card t4 large.lua >/dev/null 2>&1
tap_is $? 1 "--card: the exit status says that it does not"
"$gpush" fit --card a100 large.lua >/dev/null 2>&1
tap_is $? 0 "or that it does"
echo 'local x = ones(1000, {device = "gpu"}) error "halfway"' >ends.lua
"$gpush" fit ends.lua >/dev/null 2>report
tap_is "$? $(grep -c 'unknown: the script ended early' report)" "1 6" "nothing is said of a run that ended early"
echo 'local x = ones(1000)' >cpu.lua
contains "$("$gpush" fit cpu.lua 2>&1)" "put nothing on the device" "nor of one without a device"
contains "$(GPUSH_SIM_MEMORY=1GiB "$gpush" fit run.lua 2>&1)" "GPUSH_SIM_MEMORY is set" "nor where no card's memory counts"

# A run fits in a card exactly where the same script ends there, with what waits for the collector
# freed and blocks no larger than a card's: bytes of f32 that are held, and of which garbage is made.
cat >both.lua <<'END'
local held = {}
for i = 2, #arg do held[i] = empty(tonumber(arg[i]) // 4, {device = "gpu"}) end
collectgarbage()
for _ = 1, 20 do local _ = {empty(tonumber(arg[1]) // 4, {device = "gpu"})} end
END
while read -r fits garbage held; do
    # shellcheck disable=SC2086
    "$gpush" --card t4 both.lua "$garbage" $held >/dev/null 2>&1
    run=$?
    # shellcheck disable=SC2086
    "$gpush" fit --card t4 both.lua "$garbage" $held >/dev/null 2>report
    tap_is "$run $?" "$fits $fits" "held $held, garbage of $garbage bytes: fit agrees with the run" "$(cat report)"
done <<'END'
0 1000000000 10000000000
0 3000000000 6000000000 6000000000
0 100000000 15600000000
0 1000000000 8200000000 6700000000
1 1000000000 8200000000 6800000001
1 1000000000 16000000001
END
contains "$("$gpush" fit both.lua 1000000000 8200000000 6800000001 2>&1)" \
    "^V100 .*does not fit at both.lua:4: 1.00 GB more asked for than 15.0[0-9] GB in use" "it says where, and what lacked"

# A card's own memory.
fails() { "$gpush" --card "$1" -e "print(pcall(function() return empty($2, {device = 'sim'}) end))" 2>&1; }
contains "$(fails t4 4000000001)" "out of memory on sim:0.*of 15258.8 MiB in all .modelled T4." "a T4 raises at 16 GB"
contains "$(fails h200 35250000001)" "out of memory on sim:0.*of 134468.1 MiB in all .modelled H200." "an H200 at 141"
contains "$(fails h200 34000000000)" "^true" "and not before"
tap_is "$(GPUSH_SIM_MEMORY=64MiB "$gpush" --card h200 -e 'print(memory("sim").limit)')" 67108864 "GPUSH_SIM_MEMORY wins"
tap_is "$("$gpush" -e 'zeros(1, {device = "sim"}) a = memory("sim").limit sim.card = "t4" b = memory("sim").limit
    sim.card = "v100" sim.card = nil print(b, memory("sim").limit == a)')" "16000000000	true" "a card that is chosen later, and none again"

# The host's: what is to be written is more than there is, and nothing is.
bytes=$(awk '/^MemTotal/ {print $2 * 1024 * 2}' /proc/meminfo)
contains "$("$gpush" -e "sim.card = {like = 'h200', memory = 1e18}
    print(pcall(function() return full({$bytes // 4}, 1, {device = 'sim', dtype = 'f32'}) end))" 2>&1)" \
    "full: the host's memory is full, not the card's" "the host's memory is named where it is the one that lacks"
tap_done
