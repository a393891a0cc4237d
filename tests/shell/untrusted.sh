#!/bin/bash
# Text from outside (names of files and regions, keys, messages) wherever the program prints it: no
# control character, no override of the writing direction reaches the terminal, as bytes or in
# UTF-8.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
cd "$HOME" || exit 1
gpush=$build/gpush

# A name that holds each kind, and those bytes as a pattern.
bad=$'a\u009b31m\u202eb\u2066c\u200fd\u061ce\u2028f\u200bg\U000e0041h\x1b[31m'
obeyed=$'\x1b|\xc2[\x80-\x9f]|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c|\xf3\xa0\x81'
cat >"$bad.lua" <<'END'
local name = arg[1]
local prof = profile.run(function() local _ <close> = profile.region(name); return ones(3):sum():item() end)
print(prof:table())
print(prof:table { by = "line" })
print(prof:compare(prof))
END
echo 'error("no " .. arg[1], 0)' >fails.lua
printf 'local x = ones(2)\nlocal y = x:matmul(zeros(3))\n' >"$bad.lua.2.lua"

# safe NAME COMMAND...: it prints the name, escaped.
safe() {
    local name=$1 out
    shift
    out=$("$@" 2>&1)
    tap_ok "$(LC_ALL=C grep -qE "$obeyed" <<<"$out"; echo $((1 - $?)))" "$name" "$(cat -v <<<"$out")"
    [[ $out == *'\u{9b}31m'* || $out == *'\u{9b}'* ]]
    tap_ok $? "$name: it is shown" "$(cat -v <<<"$out")"
}
prompt() { "$gpush" -i <<<"$1"; }

safe "tables of a profile" "$gpush" "$bad.lua" "$bad"
safe "an error's message" "$gpush" fails.lua "$bad"
safe "an error's place" "$gpush" "$bad.lua.2.lua"
safe "a file that is not there" "$gpush" "$bad.nosuch"
safe "a data file that is not there" "$gpush" -e 'npy.load "'"$bad"'"'
safe "an option that does not exist" "$gpush" "-$bad"
safe "a wait's report" "$gpush" -e 'sync.mode = "warn"' "$bad.lua" "$bad"
safe "a table's keys and texts" prompt 'x = "'"$bad"'"; return {[x] = x}'
safe "a text" prompt '{"'"$bad"'"}'
safe "a module's name" prompt 'setmetatable({1}, {__name = "'"$bad"'"})'
safe "help of what is not there" prompt 'help "'"$bad"'"'
safe "a plot's title" prompt 'print(plot({1, 2}, {text = true, title = "'"$bad"'"}))'
safe "a histogram's title" prompt 'print(hist({1, 2}, {text = true, title = "'"$bad"'"}))'
safe "the doctor" env OPENBLAS_CORETYPE="$bad" "$gpush" doctor

# Tab's list, drawn by the program on a terminal.
if command -v script >/dev/null; then
    mkdir tab && : >"tab/x1$bad" && : >"tab/x2$bad"
    : >"tab/y1"$'\u009b31m\u202e' && : >"tab/y2"$'\u009b31m\u2066'
    { sleep 1; printf 'npy.load "tab/y\t\t'; sleep 1; printf '\025os.exit()\n'; } |
        TERM=xterm timeout 20 script -qec "$gpush" /dev/null >screen.out 2>&1
    tap_is "$(LC_ALL=C grep -cE $'y[12](\xc2\x9b|[^\\\\]*\xe2\x80\xae|[^\\\\]*\xe2\x81\xa6)' screen.out)" 0 "Tab's list sends none of it"
    grep -qF 'y1\u{9b}31m\u{202e}' screen.out
    tap_ok $? "and shows it" "$(cat -v screen.out)"
else
    tap_skip "no script(1) to draw on a terminal"
fi
tap_done
