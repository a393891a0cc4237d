#!/bin/bash
# The names and lines of typed text, on a screen: in errors, in warnings and in ??name.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
. "$root/tests/support/screen.sh"
cd "$HOME" || exit 1
echo 'io.write "\27[2J\27[H"' >clear.lua

fresh_screen() { screen 100 30 "$build/gpush -i clear.lua"; until_ at 2,0; }

fresh_screen
run 'function f(x)
local y = x + 1
return y:matmul(x)
end'
run '1'
enter 'f(zeros(2, 3))'
sees $'    3 | return y:matmul(x)\n        y is f32 2x3 cpu' "an error in a function of an earlier input shows its line"
sees $'stdin[1]:3: matmul' "the message names the input"
sees $'stdin[1]:3: in function' "and the calls do"
ready
enter '??f'
sees $'stdin[1]:1\nfunction f(x)\n    local y = x + 1\n    return y:matmul(x)\nend' "??name shows what was typed"
ready
enter 'x = = 2'
sees $'stdin[5]:1: unexpected symbol near \'=\'\n    1 | x = = 2' "what does not compile shows its line"
ready
enter ':time 1 + nothing'
sees $'stdin[6]:1: attempt to perform' "a command counts as an input"
sees $'    1 | 1 + nothing\n' "and shows its line"
ready
gone '[C]: in ?' "a terminal is not told which C functions ran the prompt"
key C-l
run 'nothing()'
rows 1 $'> nothing()\nstdin[7]:1: attempt to call a nil value (global \'nothing\')\n    1 | nothing()\n>' "nor of a line that was shown"
run 'error "in C"'
rows 5 $'stdin[8]:1: in C\n    1 | error "in C"\n>' "and called a function in C"

# A narrow terminal.
screen 40 12 "$build/gpush -i clear.lua"
until_ at 2,0
run 'zeros(2, 6)'
rows 2 $'tensor({{0.0, 0.0, 0.0, 0.0, 0.0, 0.0},\n        {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}},\n       f32 2x6 cpu)\n>' "a tensor keeps to the terminal's columns"
run 'printoptions{linewidth = 100}'
run 'ones(9)'
sees $'tensor({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.\n0, 1.0, 1.0}, f32 9 cpu)' "but for what the user has set"
key C-l
run ':help time'
run '?:timeit'
sees $':timeit expr\n    the time of a call: median of many\n    runs, host and device' "help, too"

fresh_screen
run 'sync.warn = true'
enter 'print(ones(3, {device = "sim"}) + 1)'
sees 'stdin[2]:1: print waited' "a warning names the input"
ready
enter ':list 2'
sees '[2] print(ones(3, {device = "sim"}) + 1)' ":list shows it"
ready
enter ':list'
sees $'[1] sync.warn = true\n[2] print' "or all"
ready
run 'sync.mode = "error"'
key C-l
run 'print(ones(3, {device = "sim"}) + 2)'
rows 4 $'    1 | print(ones(3, {device = "sim"}) + 2)\n>' "an error in a C function that another one called is that line's"
# Of very many the oldest are dropped.
screen 100 12 "TERM=dumb $build/gpush -i clear.lua"
until_ at 2,0
enter 'function old() end'
lines=$(printf '1;\n%.0s' {1..100})
for i in {1..10}; do
    type_ "$lines"$'\n'"print('\\nbatch ' .. $i)"$'\n' # in a row of its own, after a hundred prompts
    until_ has $'\n'"batch $i" || break
done
enter 'n = 0; for _ in next, debug.getregistry()["gpush.inputs"] do n = n + 1 end; print("\nkept " .. n)'
sees $'\nkept 1000' "a thousand inputs are kept"
enter '??old'
sees $'stdin[1]:1\n(its text is not known)' "the others are forgotten"

printf 'x = 1\ny = = 2\n' >bad.lua
screen 100 12 "$build/gpush bad.lua; read"
sees $'bad.lua:2: unexpected symbol near \'=\'\n    2 | y = = 2' "a script that does not compile too"
tap_is "$("$build/gpush" bad.lua 2>&1 | wc -l)" 1 "but where nobody looks it reads as lua's"
tap_done
