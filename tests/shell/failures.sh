#!/bin/bash
# A program that ends before a failure on a device was raised reports it, also by its exit status.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
export GPUSH_SIM_DEVICES=2
cd "$TMPDIR" || exit 1
bad='local function bad(d) local on = {device = d or "sim"} return ones(3, on):index_select(1, (ones(1, on) * 9):to "i64") end '
says='index_select: index 9 is out of range .*(command line):1 on sim:0'

# ends STATUS PATTERN NAME CODE: CODE, after bad, ends with STATUS and prints PATTERN (once) on
# stderr.
ends() {
    local out status
    out=$("$gpush" -e "$bad$4" 2>&1 >/dev/null) && status=0 || status=$?
    tap_ok "$([ $status = "$1" ] && [ "$(grep -c "$2" <<<"$out")" = 1 ]; echo $?)" "$3" "status $status, $out"
}

ends 1 "^[^ ]*: $says" "nobody waits" 'bad()'
ends 1 "^[^ ]*: $says" "os.exit" 'bad() os.exit()'
ends 3 "^[^ ]*: $says" "os.exit with a status of its own" 'bad() os.exit(3)'
ends 1 "^[^ ]*: $says" "os.exit that closes the state" 'bad() os.exit(true, true)'
ends 1 "$says" "a fork that is collected" 'fork(bad) collectgarbage()'
ends 1 "$says" "another error ends the script" 'bad() error "of Lua"'
ends 1 "$says" "an uncaught error is not told twice" 'print(bad():item())'
ends 1 "$says" "a value of another device" 'print(bad():to "sim:1":item())'
ends 1 "sim:[01]).*; and index_select.*sim:[01])" "two devices" 'bad() bad "sim:1" synchronize()'
ends 0 "" "what was caught is done with" 'bad() assert(not pcall(synchronize))'
tap_done
