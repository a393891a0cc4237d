#!/usr/bin/env bash
# gpush profile and gpush compare: a script's profile, however it ends, and the check of two.
. "$(dirname "$0")/../support/tap.sh"
cd "$HOME" || exit 1
gpush=$GPUSH_BUILD/gpush

cat >train.lua <<'EOF'
local model = nn.Linear(4, 1):to "gpu"
local first = optim.SGD(model:parameters(), {lr = 0.01})
local other = optim.SGD(nn.Linear(4, 1):to "gpu":parameters(), {lr = 0.01})
for i = 1, 5 do
    model(ones(2, 4, {device = "gpu"})):mean():backward()
    first:step()
    other:step()
    local n = model.weight:sum():item()
end
print("args", arg[0], ...)
io.stdout:flush()
if arg[1] == "raise" then error "mine" end
if arg[1] == "exit" then os.exit(tonumber(arg[2])) end
if arg[1] == "loop" then while true do end end
EOF
# What a saved profile answers, as Lua that is printed: p, and n, its rows' counts by name.
asks() {
    "$gpush" -e "local p, n = profile.load '$1', {}
        for _, r in ipairs(p:rows()) do n[r.name] = r.count end
        print($2)"
}

# The record ends where the script's error is raised: what makes its message is not the script.
echo 'error(setmetatable({}, {__tostring = function() return tostring(ones(3)) end}))' >dead.lua
"$gpush" profile --save saved.gz dead.lua 2>err
tap_is "$? $(head -n 1 err | cut -d: -f2-) $(asks saved.gz 'n.ones, n.full')" \
    "1  tensor({1.0, 1.0, 1.0}, f32 3 cpu) nil	nil" "a script that fails in its first line"
rm -f saved.gz

out=$("$gpush" profile train.lua a b 2>err)
tap_is "$? $out" $'0 args\ttrain.lua\ta\tb' "the script runs as usual, with its arguments"
for part in Verdict Ops "Waits of the host" "What the waits cost" Devices Streams; do
    grep -qx "$part" err
    tap_ok $? "stderr has the part $part" "$(cat err)"
done
grep -q '^train.lua:8 *item *5 ' err
tap_ok $? "with the lines that waited"
"$gpush" profile --table --limit 2 train.lua >out 2>err
tap_is "$? $(grep -c 'other rows' err) $(grep -c 'Waits of' err)" "0 1 0" "--table: only the table, of that many rows"

"$gpush" profile --save=all.prof.gz --html all.html --trace all.json --memory --shapes --flops train.lua >out 2>err
tap_is "$? $(sort err)" "0 gpush profile: wrote all.html
gpush profile: wrote all.json
gpush profile: wrote all.prof.gz" "files, and nothing else"
tap_is "$(asks all.prof.gz 'n.sgd_step, n["wait: item"]')" $'5\t5' "all of the script is in it"
tap_is "$(asks all.prof.gz 'p:table{group = "shape"}:find "f32 2x4" ~= nil, p:rows()[1].flops ~= nil')" $'true\ttrue' \
    "with what the options record"
for case in "raise:1" "exit 7:7" "exit 0:0"; do
    rm -f saved.gz
    # shellcheck disable=SC2086 # two arguments
    "$gpush" profile --save saved.gz train.lua ${case%:*} >out 2>err
    tap_is "$? $(asks saved.gz 'n["wait: item"]')" "${case#*:} 5" "a script that ends by ${case%:*}: its status, and the profile"
done
echo 'os.exit(3)' >empty.lua
"$gpush" profile empty.lua >out 2>err
tap_is "$? $(tail -1 err)" "3 nothing was recorded: no op ran, and no sample of the script was taken" \
    "a script that only exits: its status, and that nothing was recorded"
rm -f saved.gz out
if [ "$GPUSH_SAN" = thread ]; then
    tap_skip "TSan holds a signal back until the next system call, which an endless loop in Lua has none of"
else
    "$gpush" profile --save saved.gz train.lua loop >out 2>err &
    pid=$!
    for _ in $(seq 300); do [ -s out ] && break; sleep 0.1; done
    kill -INT $pid
    wait $pid
    tap_is "$? $(grep -c 'interrupted!' err) $(asks saved.gz 'n["wait: item"]')" "1 1 5" "Ctrl-C: the profile is there"
fi

"$gpush" profile --steps 2-3 --save steps.gz train.lua >out 2>err
tap_is "$? $(asks steps.gz 'n["step 1"], n["step 2"], n["step 3"], n["step 4"], n["wait: item"], n.sgd_step')" \
    $'0 nil\t1\t1\tnil\t2\t2' "--steps: these alone, each as a region"
"$gpush" profile --steps 4- --save steps.gz train.lua >out 2>err
tap_is "$? $(asks steps.gz 'n["step 3"], n["step 4"], n["step 5"], n["wait: item"]')" $'0 nil\t1\t1\t3' \
    "--steps A-: to the end"
"$gpush" profile --steps 1 --save steps.gz train.lua >out 2>err
tap_is "$? $(asks steps.gz 'n["step 1"], n["step 2"], n["wait: item"]')" $'0 1\tnil\tnil' "--steps 1"
"$gpush" profile --steps 9-9 --save none.gz train.lua >out 2>err
tap_is "$? $(cat err)" "1 gpush profile: 5 steps of an optimizer were taken, and step 9 was to be the first recorded" \
    "steps that do not come"
cat >captured.lua <<'E'
local x, model = ones(2, 4), nn.Linear(4, 1)
local optimizer = optim.AdamW(model:parameters(), 0.1)
local part = capture(function(v) return v * 2 end)
local step = capture(function(v)
    optimizer:zero_grad()
    local loss = model(part(v)):square():mean()
    loss:backward()
    optimizer:step()
    return loss
end)
for _ = 1, 6 do
    part(x)
    print(step(x):item())
end
E
"$gpush" captured.lua >plain
for asked in 1-2 2-3 3-4 5-; do
    "$gpush" profile --steps $asked --save steps.gz captured.lua >out 2>err
    first=${asked%-*} last=${asked#*-}
    tap_is "$? $(wc -l <out) $(asks steps.gz "n['step $((first - 1))'], n['step $first'], n['step ${last:-6}'], n['step $((${last:-6} + 1))']")" \
        "0 6 nil"$'\t1\t1\t'"$([ "$last" ] && echo nil || echo 1)" "--steps $asked of a captured step" "$(cat err)"
done
cat >deep.lua <<'E'
local function inner(x) local y = x:exp() return y end
local function outer(x) local y = inner(x) return y end
outer(ones(2))
E
for depth in "--stack-depth 2" --stack-depth=1; do
    # shellcheck disable=SC2086 # two arguments
    "$gpush" profile $depth --save depth.gz deep.lua >out 2>err
    asks depth.gz '(function() for _, r in ipairs(p:rows{group = "stack"}) do if r.name == "exp" then return r.stack end end end)()'
done >depths
tap_is "$(cat depths)" $'deep.lua:1 (inner) < deep.lua:2 (outer)\ndeep.lua:1 (inner)' "--stack-depth: the innermost calls"
"$gpush" profile --save no/such/file.gz train.lua >out 2>err
tap_is "$? $(cat out err)" "3 gpush profile: --save: cannot write no/such/file.gz: there is no folder no/such" \
    "no folder for a file: the script does not run"
mkdir full.gz
"$gpush" profile --save ./full.gz train.lua >out 2>err
tap_is "$? $(grep -c '^args' out) $(cat err)" "3 1 gpush profile: profile.save: cannot write ./full.gz: Is a directory" \
    "a file that cannot be written"
"$gpush" profile nosuch.lua >out 2>err
tap_is "$? $(grep -c nosuch.lua err) $(wc -l <err)" "3 1 1" "no such script: no profile"
for args in "" "--steps" "--steps x a.lua" "--steps 3-2 a.lua" "--steps 0 a.lua" "--limit 0 a.lua" "--group x a.lua" \
    "--stack-depth 0 a.lua" "--stack-depth 33 a.lua" "--table=3 a.lua" "--nosuch a.lua" "--html"; do
    # shellcheck disable=SC2086 # several arguments
    "$gpush" profile $args >out 2>err
    tap_is "$? $(grep -c '^usage: gpush profile' err) $(wc -c <out)" "2 1 0" "gpush profile $args: usage on stderr"
done
"$gpush" --card h200 profile --save card.gz train.lua >out 2>err
tap_is "$? $(asks card.gz 'p.modelled')" "0 modelled H200, host as measured" "a command after options"
printf 'print("a script", ...)\n' >profile
tap_is "$("$gpush" -W profile x)" $'a script\tx' "a script of that name goes before"

# ---- gpush compare ----

sed 's/= 1, 5/= 1, 9/' train.lua >more.lua
rm profile
"$gpush" profile --save more.gz more.lua >out 2>err
out=$("$gpush" compare all.prof.gz more.gz 2>err)
tap_is "$? $(cat err) $(grep -c '^Waits: 9 before .*, 13 now' <<<"$out")" "0  1" "what changed" "$out"
"$gpush" compare --fail-above 40% --of waits all.prof.gz more.gz >out 2>err
tap_is "$? $(cat err)" "1 gpush compare: waits: 9 before, 13 now (+44.4%): more than 40% more" "a check that fails"
"$gpush" compare all.prof.gz more.gz --fail-above=50% --of=waits >out 2>err
tap_is "$? $(cat err)" "0 gpush compare: waits: 9 before, 13 now (+44.4%): not more than 50% more" "and that passes"
for of in wall device waited; do
    "$gpush" compare all.prof.gz all.prof.gz --fail-above 0% --of $of >out 2>err
    tap_is "$? $(sed 's/.* now//' err)" "0  (+0.0%): not more than 0% more" "the same profile: $of"
done
"$gpush" compare all.prof.gz card.gz --fail-above 1000000% >out 2>err
tap_is "$? $(cat err)" "3 gpush compare: not compared: all.prof.gz is CPU-backed, not a GPU's, card.gz is modelled H200, host as measured" \
    "measured and modelled times are not compared"
out=$("$gpush" compare all.prof.gz card.gz 2>err)
tap_is "$? $out $(grep -c 'not compared' err)" "3  1" "nor without a check"
"$gpush" compare all.prof.gz nosuch.gz >out 2>err
tap_is "$? $(cat err)" "3 gpush compare: profile.load: cannot open nosuch.gz: No such file or directory" "no such file"
for args in "" "all.prof.gz" "a b c" "a b --fail-above 10" "a b --fail-above" "a b --of waits" \
    "a b --fail-above 1% --of x" "a b --nosuch"; do
    # shellcheck disable=SC2086 # several arguments
    "$gpush" compare $args >out 2>err
    tap_is "$? $(grep -c '^usage: gpush compare' err) $(wc -c <out)" "2 1 0" "gpush compare $args: usage on stderr"
done
tap_done
