#!/bin/bash
# What the prompt shows on terminals of common sizes and of little ability: errors with a caret under
# the mistake, of Lua and of a kernel's text, a table of waits, and a plot; by plain characters on a
# dumb terminal and where NO_COLOR asks for them, and in the C locale as elsewhere.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
. "$root/tests/support/screen.sh"
command -v gcc >/dev/null || tap_skip_all "there is no gcc"
cd "$HOME" || exit 1
export LC_ALL=C.UTF-8
printf '%s\n' '_SUGGEST = false' 'io.write "\27[2J\27[H"' >clear.lua
# session COLUMNS ROWS [VARIABLE=VALUE]: a fresh prompt in the first row.
session() {
    screen "$1" "$2" "env ${3-} $build/gpush -i clear.lua"
    until_ at 2,0
}
joined() { shown -J | sed 's/ *$//'; } # lines as the program wrote them
escapes() { shown -e | grep -c $'\e'; }

# mistakes NAME: one in the syntax, one in an op's arguments, one in a kernel's text.
mistakes() {
    run 'y = = 2'
    run 'ones(2, 3):matmul(ones(4, 5))'
    run 'k = cuda.kernel("__global__ void f(float *y) { y[0] = z; }", "f")'
    tap_is "$(joined | sed '/./!d' | head -n 12)" "> y = = 2
stdin[1]:1: unexpected symbol near '='
    1 | y = = 2
            ^
> ones(2, 3):matmul(ones(4, 5))
stdin[2]:1: matmul: f32 2x3 x f32 4x5 (expected the same number of columns in a as of rows in b, not 3 and 4)
    1 | ones(2, 3):matmul(ones(4, 5))
> k = cuda.kernel(\"__global__ void f(float *y) { y[0] = z; }\", \"f\")
stdin[3]:1: f: the compiler refuses the text: stdin[3]:1: 'z' undeclared (first use in this function)
    __global__ void f(float *y) { y[0] = z; }
                                         ^
    1 | k = cuda.kernel(\"__global__ void f(float *y) { y[0] = z; }\", \"f\")" "$1: carets under mistakes"
}
# tables NAME: waits and a plot, of which nothing wraps.
tables() {
    run 'for i = 1, 3 do ones(4, {device = "sim"}):sum():item() end'
    local text pattern
    for text in ':sync' 'plot({1, 3, 2}, {height = 4})'; do
        key C-l
        until_ at 2,0
        run "$text"
        pattern='^(line +why +(device +)?times .* what to write instead| └┬─*┬─*┬)$'
        tap_is "$(shown | grep -cE "$pattern")" 1 "$1: $text" "$(shown)"
        tap_is "$(joined | grep -c .)" "$(shown | grep -c .)" "and nothing wraps" "$(shown)"
    done
}

for size in '80 24' '120 40'; do
    # shellcheck disable=SC2086 # two words
    session $size
    mistakes "$size"
    tables "$size"
    [ "$(escapes)" -gt 0 ]
    tap_ok $? "$size: in colours"
done
for with in TERM=dumb NO_COLOR=1; do
    session 80 24 "$with"
    mistakes "$with"
    run 'plot({1, 3, 2}, {height = 4})'
    tap_is "$(shown | grep -c '^ └┬─*┬─*┬$')" 1 "$with: a plot" "$(shown)"
    tap_is "$(escapes)" 0 "$with: no colours" "$(shown -e | cat -v)"
done
session 80 24 LC_ALL=C
mistakes "the C locale"
run '"äöü 漢字"'
sees $'> "äöü 漢字"\näöü 漢字\n>' "the C locale: letters beyond ASCII"
tap_done
