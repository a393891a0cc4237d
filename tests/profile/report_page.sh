#!/bin/bash
# The page of prof:report in a browser: what it shows, how it is moved, and how fast it is.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$browser" ] || tap_skip_all "chromium is not installed"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

cat >pages.lua <<'LUA'
local w = randn(128, 128, {device = "sim"})
local function train()
    for step = 1, 3 do
        local _ <close> = profile.region("step " .. step)
        local y = w
        for _ = 1, 20 do y = (y:matmul(w) / 128):tanh() end
        local kept
        if step == 2 then
            kept = zeros(1024, 1024, {device = "sim"})
        end
        local loss = y:sum():item()
    end
end
train()
local demo = profile.run({stack = true, memory = true, shapes = true, flops = true, lua = true}, function()
    train()
    local stop = clock() + 0.02
    while clock() < stop do string.rep("x", 1e5) end
end)
demo:report "demo.html"
demo:whatif{without = "all"}:report "predicted.html"
demo:on "h200":report "modelled.html"
local c = ones(8)
local function taking_turns(name, op)
    return coroutine.wrap(function()
        local _ <close> = profile.region(name)
        for _ = 1, 5 do
            op(c)
            coroutine.yield()
        end
    end)
end
profile.run(function()
    local a, b = taking_turns("A", exp), taking_turns("B", log)
    for _ = 1, 4 do
        a()
        b()
        local stop = clock() + 0.02
        while clock() < stop do end
    end
end):report "coroutines.html"
profile.run(function() end):report "empty.html"
profile.run(function()
    for i = 1, 3 do
        if c:sum() > i then local _ = c:sum():item() end
    end
end):report "reads.html"
profile.run(function()
    for _, name in ipairs { "</script><script>document.title='bad'</script>", ("x"):rep(1e5),
        ("<img src=x onerror=document.title='bad'>"):rep(50), "\u{202e}gnp.exe\xff\27[31m\n@DATA@" } do
        profile.region(name, function() return w:sum():item() end)
    end
end):report "hostile.html"
-- Two ranks' steps: rank 0 waits once in each, rank 1 in its second one only, five times and for
-- short. Rank 0 alone: five streams, the last the busiest.
local made = dofile(os.getenv "GPUSH_ROOT" .. "/tests/support/torch_trace.lua")
local files = {}
for rank = 0, 1 do
    local r = made.trace { rank = rank, device = rank, pid = 70 + rank }
    for i = 1, 2 do
        local from = 1000 * i
        r:region("ProfilerStep#" .. i, from, 990)
        for stream = 7, 11 do
            r:op("aten::mm", from + 10 * stream, 8)
            r:kernel("gemm", from + 200, 10 * stream,
                r:call("cudaLaunchKernel", from + 10 * stream + 2, 4), stream)
        end
        if rank == 0 then
            r:op("aten::item", from + 150, 300)
            r:call("cudaStreamSynchronize", from + 160, 280)
        end
        for _, at in ipairs(rank == 1 and i == 2 and { 110, 200, 210, 220, 230 } or {}) do
            r:call("cudaStreamSynchronize", from + at, 5) -- the last four beside rank 0's
        end
    end
    files[rank + 1] = "rank" .. rank .. ".json"
    local f <close> = io.open(files[rank + 1], "w")
    f:write(r:text())
end
profile.load(files):report "ranks.html"
profile.load(files[1]):report "streams.html"
local x = ones(4, {device = "sim"})
profile.run(function()
    for i = 1, 26000 do
        local _ <close> = i % 100 == 0 and profile.region "hundred" or nil
        local y = (x + 1):tanh()
        if i % 50 == 0 then local _ = y[1]:item() end
    end
end):report "big.html"
LUA
GPUSH_ROOT=$root "$build/gpush" pages.lua
tap_ok $? "the pages are written"

# checked PAGE CHECKS [FLAGS]: the results of those checks of report_page.js, one per line.
checked() {
    local page=$1 checks=$2
    shift 2
    {
        echo '<!doctype html><script>const errors = []; addEventListener("error", e => errors.push(e.message)); window.ResizeObserver = class { observe() {} }</script>'
        sed 1d "$page.html"
        echo "<script>\"use strict\"; const CHECKS = [$checks];"
        cat "$root/tests/support/report_page.js"
        echo '</script>'
    } >"checked-$page.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/browser" "$@" --dump-dom \
        "file://$scratch/checked-$page.html" 2>browser.log | sed -n '/<pre/,/<\/pre/p' | sed 's/.*<pre[^>]*>//; s/<\/pre>.*//; s/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g'
}

# looked_at PAGE: an assertion for each of the results on standard input.
looked_at() {
    local n=0 line page=$1
    while IFS= read -r line; do
        case $line in
            "not ok "*" ms") if busy; then tap_skip "$page: ${line#not ok }: the machine is busy"; else tap_ok 1 "$page: ${line#not ok }"; fi ;;
            "ok "* | "not ok "*) [[ $line == ok* ]]; tap_ok $? "$page: ${line#*ok }" ;;
            "figures "*) echo "# $page: ${line#figures }" ;;
        esac
        n=$((n + 1))
    done
    [ "$n" -gt 0 ]
    tap_ok $? "$page: the browser says what it sees" "$(tail -5 browser.log)"
}
looked() { checked "$@" >results && looked_at "$1" <results; }
looked demo '"any", "demo"' --window-size=1280,900
looked predicted '"any", "predicted"' --window-size=1280,900
looked modelled '"any", "modelled"' --window-size=1280,900
looked ranks '"any", "ranks"'
looked streams '"any", "streams"'
looked coroutines '"any", "coroutines"'
looked empty '"any", "empty"'
looked reads '"any", "reads"' --window-size=1280,900
looked hostile '"any", "hostile"'
# Beside other work a browser may be slow: the best of three counts, and on a machine with more than
# two processes waiting for each processor times say nothing.
busy() { awk -v cores="$(nproc)" '{ exit !($1 > 3 * cores) }' /proc/loadavg 2>/dev/null; }
for _ in 1 2 3; do
    checked big '"any", "big"' --window-size=1280,900 >big.results
    grep -q '^not ok' big.results || break
done
looked_at big <big.results

# A window has a least width: a frame is a phone's.
for page in demo hostile predicted reads; do
    echo "<!doctype html><iframe style=\"width:400px;height:2000px;border:0\"></iframe><script>
        const frame = document.querySelector('iframe');
        frame.addEventListener('load', () => {
            const d = frame.contentDocument;
            if (!d.getElementById('timeline')) return;
            document.body.append(Object.assign(document.createElement('pre'), { textContent: 'width ' + d.documentElement.scrollWidth + ' of ' + d.documentElement.clientWidth }));
        });
        frame.srcdoc = decodeURIComponent('$(python3 -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.stdin.buffer.read()))' <$page.html)');
    </script>" >narrow.html
    width=$(timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/browser" --dump-dom \
        "file://$scratch/narrow.html" 2>browser.log | sed -n 's/.*<pre>width \([0-9]* of [0-9]*\)<.*/\1/p')
    [ -n "$width" ] && [ "${width% of *}" -le "${width#* of }" ]
    tap_ok $? "$page: 400 pixels are wide enough" "$width"
done
tap_done
