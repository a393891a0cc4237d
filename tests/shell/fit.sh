#!/bin/bash
# Tables and reports fit the terminal, or COLUMNS; in a pipe they have their full width.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
. "$root/tests/support/screen.sh"
cd "$HOME" || exit 1
mkdir -p "a folder with a long name/and another one in it"
cat >"a folder with a long name/and another one in it/wide.lua" <<'END'
local x = randn(64, 64, {device = "sim"})
local prof = profile.run({memory = true, shapes = true, stack = true}, function()
    do local _ <close> = profile.region "the region of a module: encoder.layers.last.self_attn.out_proj" local y = (x:matmul(x)):sum():item() end
end)
local function part(name, what)
    print("== " .. name)
    if what then print(what) end
end
part("op", prof:table())
part("region", prof:table { group = "region" })
part("shape", prof:table { group = "shape" })
part("stack", prof:table { group = "stack" })
part("diff", prof:diff(prof))
part "sync"
sync.report()
part("model", nn.Sequential(nn.Conv2d(1, 8, 3, {padding = "same", bias = false}), nn.LSTM(4, 5, {num_layers = 2, bidirectional = true}),
    nn.Sequential(nn.Sequential(nn.MultiheadAttention(32, 4)))))
part("summary", nn.summary(nn.LSTM(4, 5, {num_layers = 2, bidirectional = true}), randn(3, 2, 4)))
part "loader"
local loader = data.Loader { data.TensorDataset(ones(40, 2)), batch = 4, workers = 1 }
for _ in loader() do end
loader:report()
part "compare"
print(compare { ["the way in which everybody who comes from elsewhere writes it first"] = function() return x + 1 end, b = function() return x * 2 end })
print(timeit(function() return x + 1 end))
END
script="a folder with a long name/and another one in it/wide.lua"
# over N: the lines of standard input with more than N characters.
over() { awk -v most="$1" '{ line = $0; gsub(/[\200-\277]/, "", line); if (length(line) > most) print }'; }
export LC_ALL=C.UTF-8
for columns in 60 80 132; do
    COLUMNS=$columns "$build/gpush" "$script" >out 2>&1
    tap_ok $? "the reports are made for $columns columns" "$(tail -n 3 out)"
    tap_empty "$(LC_ALL=C over $columns <out)" "no line has more than $columns"
    tap_is "$(grep -c '^== ' out)" 10 "of all parts"
    grep -q '# of Calls' out && grep -q 'Self SIM Mem' out && grep -q 'Input Shapes' out && grep -q 'Source Location' out
    tap_ok $? "columns that do not fit stand below"
    grep -Eq '^ *the re.*….*out_proj  ' out
    tap_ok $? "long names are cut in their middle" "$(grep 'out_proj' out)"
    tap_empty "$(grep -E '[0-9]…|…[0-9]' out | grep -v wide.lua)" "and numbers never"
    COLUMNS=$columns "$build/gpush" doctor >out
    tap_empty "$(LC_ALL=C over $columns <out | grep -v /)" "the doctor's lines fit into $columns, but for names of files"
done
env -u COLUMNS "$build/gpush" "$script" >out 2>&1
[ "$(LC_ALL=C over 180 <out | wc -l)" -gt 5 ] && ! grep -q '^Name.*…' out
tap_ok $? "in a pipe there is no limit"

# One launch of a kernel 900 us later, of another program's trace.
cat >launch.json <<'END'
{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Made GPU"}], "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 905, "dur": 90, "args": {"device": 0, "stream": 7, "correlation": 7}}]}
END
COLUMNS=80 "$build/gpush" analyze launch.json | sed -n '/^Launches/,/^work:/{/^work:/!p}' >out
tap_is "$(grep -c 'cudaLaunchKernelExC.*900.000us' out)" 1 "a table of launches" "$(cat out)"
tap_empty "$(over 80 <out)" "which fits, too"

# On a terminal, which need not set COLUMNS; lines that wrap are joined by capture-pane -J.
for columns in 80 60; do
    screen $columns 120 "env -u COLUMNS $build/gpush '$script'; echo the end; sleep 600"
    until_ has 'the end'
    tap_empty "$(tm capture-pane -p -J -S - | sed 's/ *$//' | LC_ALL=C over $columns)" "nothing wraps in a terminal of $columns columns"
done

# A warning is one line in a file, and folded between words on a terminal.
warning='sync.warn = true local x = ones(8, {device = "sim"}) if x:sum() > 9 then print "more" end'
tap_is "$("$build/gpush" -e "$warning" 2>&1 | wc -l)" 1 "a warning in a file is one line"
screen 60 40 "$build/gpush -e '$warning'; echo the end; sleep 600"
until_ has 'the end'
tap_empty "$(tm capture-pane -p -J | sed 's/ *$//' | LC_ALL=C over 60)" "a warning does not wrap in a terminal of 60 columns"
tap_ok "$(tm capture-pane -p | tr -s ' \n' ' ' | grep -q 'every N steps only'; echo $?)" "and is whole" "$(tm capture-pane -p)"
tap_done
