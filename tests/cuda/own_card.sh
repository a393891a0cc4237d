#!/usr/bin/env bash
# prof:on(card) of what a card itself measured: on the same card its times stay, on another one
# they are scaled by the shares of their bounds that both were measured to reach.
. "$(dirname "$0")/../support/tap.sh"
cat >"$TMPDIR/own.lua" <<'END'
local x = ones(1 << 20, {device = "cuda"})
local p = profile.run({flops = true}, function() return x:tanh():sum():item() end)
local function device_time(q, name)
    for _, row in ipairs(q:rows()) do if row.name == name then return row.self_device_time_total end end
end
local file = os.getenv "TMPDIR" .. "/own.prof"
p:save(file)
local kept = profile.load(file)
print(p.card and p.card.name, p.modelled, p:on("h100").wall_ns == p.wall_ns,
    kept:on("h100").wall_ns == p.wall_ns)
print(("%.4f %.4f"):format(device_time(p:on "h200", "tanh") / device_time(p, "tanh"),
    device_time(kept:on "h200", "tanh") / device_time(p, "tanh")))
END
run() { GPUSH_FAKE_NAME=$1 "$GPUSH_BUILD/gpush" "$TMPDIR/own.lua" 2>&1; }
# 8 MiB: 1.2 us and 2.767 at 0.905 of 3.35 TB/s on the H100, 1 and 2.032 at 0.86 of 4.8 on the H200.
tap_is "$(run "NVIDIA H100 80GB HBM3")" "H100	nil	true	true
0.7643 0.7643" "a card that is known"
tap_is "$(run "NVIDIA H100 PCIe" | head -n 1)" "nil	nil	false	false" "another board of the same chip is not"
tap_done
