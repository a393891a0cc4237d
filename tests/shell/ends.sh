#!/usr/bin/env bash
# However a program ends, what is open is checked and what could not be written is a failure; and no
# command writes over what it reads.
. "$(dirname "$0")/../support/tap.sh"
cd "$TMPDIR" || exit 1
gpush=$GPUSH_BUILD/gpush

# ---- budgets of waits ----

cat >w.lua <<'END'
local x = full({8, 8}, 1, {device = "gpu"})
function wait() return x:sum():item() end
function suspend()
    co = coroutine.wrap(function() local _ <close> = sync.budget{max = 0} wait() coroutine.yield() end)
    co()
end
END
# ends STATUS BROKEN CODE: the exit status, and how often stderr says that a budget is exceeded, where
# the code comes from -e, a script, standard input and the prompt.
ends() {
    local got="" want="" how
    printf 'require "w"; %s' "$3" >ends.lua
    for how in "-l w -e" "script" "-" "-i"; do
        case $how in
            -l*) "$gpush" -l w -e "$3" >/dev/null 2>err ;;
            script) "$gpush" ends.lua >/dev/null 2>err ;;
            -) "$gpush" - <ends.lua >/dev/null 2>err ;;
            -i) "$gpush" -i <ends.lua >/dev/null 2>err ;;
        esac
        got+="$how $? $(grep -c 'sync.budget: the host waited 1 time, at most 0 allowed' err)"$'\n'
        want+="$how $1 $2"$'\n'
    done
    tap_is "$got" "$want" "$3"
}
ends 1 1 'do local _ <close> = sync.budget{max = 0} wait() os.exit(0) end'
ends 1 1 'do local _ <close> = sync.budget{max = 0} wait() os.exit(0, true) end'
ends 1 1 'do local _ <close> = sync.budget{max = 0} wait() os.exit(256) end'
ends 3 1 'do local _ <close> = sync.budget{max = 0} wait() os.exit(3) end'
ends 1 1 'sync.budget({max = 0}, function() wait() os.exit(true) end)'
ends 1 1 'sync.budget({max = 0}, function() coroutine.wrap(function() wait() os.exit() end)() end)'
ends 1 1 'suspend()'
ends 1 1 'suspend() co = nil collectgarbage()'
ends 1 1 'suspend() os.exit()'
ends 0 0 'do local _ <close> = sync.budget{max = 1} wait() os.exit(0) end'
for command in "sync --quiet" profile; do
    for code in 'suspend()' 'local _ <close> = sync.budget{max = 0} wait() os.exit(0)'; do
        echo "require 'w' $code" >s.lua
        # shellcheck disable=SC2086 # a command and its option
        "$gpush" $command s.lua >/dev/null 2>err
        tap_is "$? $(grep -c 'sync.budget: the host waited' err)" "1 1" "gpush $command: $code"
    done
done
echo "require 'w' suspend()" >s.lua
"$gpush" sync --quiet --baseline waits.json s.lua 2>/dev/null
tap_is "$(cat waits.json 2>&1 | head -c 4)" "cat:" "no baseline is written where a budget is exceeded"

# The error of a coroutine, which leaves its blocks open, is the script's to look at.
out=$("$gpush" -l w -e 'local c = coroutine.create(function() local _ <close> = sync.budget{max = 0} wait() error "mine" end)
    print(coroutine.resume(c))' 2>/dev/null)
tap_is "$? $out" $'0 false\t(command line):1: mine' "an error matters more than the budget"

# ---- sync.async ----

tap_is "$("$gpush" -l w -e 'sync.async(full({3}, 1, {device = "gpu"}):sum(), function(x) print(x:item()) end) os.exit(0)')" 3 \
    "sync.async's function gets its value though os.exit comes first"
"$gpush" -l w -e 'sync.async(full({3}, 1, {device = "gpu"}), function() error "mine" end)' 2>err
tap_is "$? $(grep -c mine err)" "1 1" "its error at the end is the program's failure"

# ---- output that cannot be written ----

echo 'print(1)' >print.lua
"$gpush" -e 'profile.run(function() return ones(3) + 1 end):save "p.json"'
# lost STATUS ARGUMENTS: with a full disk as standard output, and with a closed one, that is the exit
# status, 3 of a command's own result, and one line says why.
lost() {
    local full closed status=$1
    shift
    "$gpush" "$@" >/dev/full 2>err
    full="$? $(grep -c 'cannot write to standard output' err)"
    "$gpush" "$@" >&- 2>err
    closed="$? $(grep -c 'cannot write to standard output' err)"
    tap_is "$full, $closed" "$status 1, $status 1" "gpush ${*//$'\n'/ }" "$(cat err)"
}
lost 1 -v
lost 1 --help
lost 1 print.lua
lost 1 -e 'io.write(1)'
lost 1 -e 'io.write(1) os.exit(0)'
lost 1 -e 'print(1) os.exit(0, true)'
lost 3 analyze p.json
lost 3 analyze --help
lost 3 analyze p.json --html page.html
lost 3 compare p.json p.json
lost 3 compare p.json p.json --fail-above 10%
lost 3 doctor
lost 3 sync --help
lost 1 sync --quiet print.lua
lost 1 profile print.lua
lost 3 run --help
"$gpush" -i >/dev/full 2>err <<<'1 + 1'
tap_is "$? $(grep -c 'cannot write' err)" "1 1" "the prompt"
"$gpush" sync print.lua >out 2>/dev/full
tap_is "$? $(cat out)" "1 1" "gpush sync, whose report cannot be written"
"$gpush" -e 'print(1) os.exit(5)' >/dev/full 2>err
tap_is "$? $(grep -c 'cannot write' err)" "5 1" "a status of the script's own stays"
"$gpush" -e 'x = 1' >&- 2>&- <&-
tap_is $? 0 "closed files that nobody uses are no failure"
"$gpush" -e 'local f = io.open("kept", "w") print "printed" f:write "mine" f:close()' >&- 2>/dev/null
tap_is "$(cat kept)" mine "what is printed to a closed standard output goes into no other file"

# ---- an output that is an input ----

mkdir -p folder
ln -s p.json link.json
ln -s "$PWD/folder" other
cp p.json q.json
echo 'print "has run"' >s.lua
# refused OPTION COMMAND...: the command fails with one line that names the option, prints nothing,
# and leaves every file as it was.
refused() {
    local option=$1 before got
    shift
    before=$(cat ./*.json s.lua | cksum)
    got=$("$gpush" "$@" 2>err)
    tap_is "$? $got $(wc -l <err) $(grep -c -- "$option" err) $(cat ./*.json s.lua | cksum)" "2  1 1 $before" \
        "gpush $*" "$(cat err)"
}
for same in p.json ./p.json "$PWD/p.json" link.json folder/../p.json; do
    refused "--html $same would replace" analyze p.json --html "$same"
done
refused "--html p.json would replace" analyze link.json --html p.json
refused "--html p.json would replace" analyze q.json --diff p.json --html p.json
refused "--html p.json would replace" analyze q.json p.json --html p.json
refused "--html s.lua would replace" profile --html s.lua s.lua
refused "--save q.json would replace" profile --save q.json s.lua p.json ./q.json
refused "--trace and --folded" profile --trace new --folded ./new s.lua
refused "--html and --save" profile --html folder/new --save other/new s.lua
refused "--baseline ./s.lua would replace" sync --baseline ./s.lua s.lua
refused "--baseline s.lua would replace" sync --baseline s.lua --update s.lua
tap_is "$(ls folder)$(ls new 2>/dev/null)" "" "and writes no other"
"$gpush" profile --html /dev/null --trace /dev/null s.lua >/dev/null 2>&1
tap_ok $? "two files may be /dev/null"
"$gpush" -e 'safetensors.save("m.safetensors", {x = full({1000}, 2.0)})
    local t = safetensors.load "m.safetensors" os.execute "ln -s m.safetensors l.safetensors"
    safetensors.save("l.safetensors", {x = t.x * 2})
    print(t.x:sum():item(), safetensors.load("m.safetensors").x:sum():item())' >out
tap_is "$(cat out)" $'2000.0\t4000.0' "a mapped file can be saved over: what was loaded stays"
tap_done
