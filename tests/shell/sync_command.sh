#!/usr/bin/env bash
# gpush sync: a script's waits, as a report and as a check.
. "$(dirname "$0")/../support/tap.sh"
cd "$HOME" || exit 1
gpush=$GPUSH_BUILD/gpush

cat >train.lua <<'EOF'
local x = full({64, 64}, 1, {device = "gpu"})
for i = 1, 3 do
    x = x + 1
    local n = x:sum():item()
end
sync.allow("log", function() return x:sum():item() end)
synchronize()
print("args", ...)
print("arg", arg[0], arg[1])
EOF
out=$("$gpush" sync train.lua a b 2>err)
tap_is "$? $out" $'0 args\ta\tb\narg\ttrain.lua\ta' "the script runs as usual, with its arguments"
grep -Eq '^train.lua:4 +item +sim:0 +3 ' err
tap_ok $? "then its waits are listed" "$(cat err)"

tap_is "$("$gpush" sync nosuch.lua 2>&1 | grep -c 'has not waited'; "$gpush" sync --json nosuch.lua 2>err)" 0 \
    "a script that cannot be read is not said to have waited or not"
"$gpush" sync --quiet --baseline waits.json train.lua >out 2>err
tap_is "$? $(cat err)" "0 gpush sync: wrote waits.json" "--baseline writes the file where there is none"
tap_is "$(grep -c why waits.json)" 1 "with the lines that wait, without those that are allowed"
"$gpush" sync --quiet --baseline waits.json train.lua >out 2>err
tap_is "$? $(cat err)" "0 " "the same waits pass"
{ echo '-- above'; cat train.lua; echo 'if x:sum() > 0 then print "more" end'; } >longer.lua
mv longer.lua train.lua
"$gpush" sync --quiet --baseline waits.json ./train.lua >out 2>err
tap_is "$? $(sed 's/;.*//' err)" $'1 gpush sync: new: ./train.lua:11: branch waited 1 time\ngpush sync: 1 wait is not in waits.json' \
    "a new one fails, and lines that moved do not"
sed 's/i = 1, 3/i = 1, 30/' train.lua >often.lua && cp waits.json often.json && sed -i 's/train.lua/often.lua/' often.json
"$gpush" sync --quiet --baseline often.json often.lua >out 2>err
tap_is "$? $(sed -n 's/;.*//; 1p' err)" "1 gpush sync: more: often.lua:5: item waited 30 times, 3 in the file" \
    "a line that waits ten times as often fails"
"$gpush" sync --quiet --baseline=waits.json --update train.lua >out 2>err
tap_is "$? $(cat err) $(grep -c why waits.json)" "0 gpush sync: wrote waits.json 2" "--update accepts it"
echo 'os.exit(true)' >>train.lua
"$gpush" sync --quiet --budget 3 train.lua >out 2>err
tap_is "$? $(cat err)" "1 gpush sync: 4 waits, at most 3 allowed" "--budget, where the script calls os.exit"
"$gpush" sync --quiet --budget 4 train.lua >out 2>err
tap_is "$? $(cat err)" "0 " "a kept budget"
"$gpush" sync --error --quiet train.lua >out 2>err
tap_is "$? $(head -n 1 err | sed 's/.*\(train.lua:5: item would wait\).*/\1/')" "1 train.lua:5: item would wait" "--error refuses"
"$gpush" sync --warn --quiet train.lua >out 2>err
tap_is "$? $(grep -c waited err)" "0 2" "--warn prints a line for each"
cat >model.lua <<'E2'
local model = nn.Linear(200, 200)
local opt = optim.SGD(model, {lr = 0.1})
model:to "sim"
local x = ones(200, 200, {device = "sim"})
for step = 1, 3 do
    local loss = model(x):sum()
    loss:backward()
    opt:step()
    if step == tonumber(arg[1]) then loss:item() end
end
E2
for args in "--error model.lua 9:1 model.lua:3: to would wait:refused before the first step; --skip 1 begins after it" \
    "--error --skip 0 model.lua 9:1 model.lua:3: to would wait:refused before the first step; --skip 1 begins after it" \
    "--error --skip 1 model.lua 9:0 :" "--error --skip 1 model.lua 2:1 model.lua:9: item would wait:" \
    "--error --skip 2 model.lua 1:0 :" "--budget 0 --skip 2 model.lua 9:0 :" \
    "--skip 4 model.lua 9:1 gpush sync: 3 steps of an optimizer, --skip 4 waits for more:"; do
    # shellcheck disable=SC2086 # several arguments
    "$gpush" sync --quiet ${args%%:*} >out 2>err
    status=$?
    first=$(head -n 1 err | sed 's/^.*\(model.lua:[0-9]*: [a-z]* would wait\).*/\1/')
    tap_is "$status $first:$(sed -n 's/^gpush sync: \(refused.*\)/\1/p' err)" "${args#*:}" "gpush sync ${args%%:*}"
done
echo '{"form": "gpush sync baseline 1", "waits": [3]}' >broken.json
"$gpush" sync --quiet --baseline broken.json train.lua >out 2>err
tap_is "$? $(cat err)" "3 gpush sync: sync.baseline: broken.json: wait 1: expected file, line, why and what" "a broken file"
echo 'error "mine"' >fails.lua
"$gpush" sync --quiet --baseline none.json fails.lua >out 2>err
tap_is "$? $(cat none.json 2>out)" "1 " "a script that fails writes no baseline"
for args in "" "--budget" "--budget x a.lua" "--update a.lua" "--warn --error a.lua" "--nosuch a.lua"; do
    # shellcheck disable=SC2086 # several arguments
    "$gpush" sync $args >out 2>err
    tap_is "$? $(grep -c '^usage: gpush sync' err) $(wc -c <out)" "2 1 0" "gpush sync $args: usage on stderr"
done
"$gpush" sync --help | grep -q -- '--baseline FILE'
tap_ok $? "--help"
for command in sync profile fit; do
    "$gpush" $command nofile >out 2>err
    tap_is "$? $(cat err)" "3 $gpush: cannot open nofile: No such file or directory" "gpush $command: no such script"
done
echo 'print "a script of that name"' >sync
tap_is "$("$gpush" sync)" "a script of that name" "a script of the command's name comes first"
tap_done
