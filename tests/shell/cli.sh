#!/bin/bash
# The command line: gpush prints and returns the same as lua5.4, except for its name.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
cd "$TMPDIR" || exit 1
printf 'print(...) print(#arg, arg[0], arg[1], arg[-1])\n' >args.lua
printf '#!/usr/bin/env lua\nprint(debug.getinfo(1, "l").currentline)\nlocal t = {}\nif t.x then end\nprint(t.x.y)\n' >fails.lua
printf 'x = = 1\n' >syntax.lua
printf 'return {name = ...}\n' >mod.lua
printf 'error()\n' >nothing.lua
printf 'error(setmetatable({}, {__tostring = function() return "an object" end}))\n' >object.lua
printf 'error({})\n' >table.lua
printf 'os.exit(3)\n' >exit.lua
printf '\357\273\277print "marked"\n' >bom.lua
printf 'init = "from a file"\n' >init.lua
: >empty.lua
echo 'print(io.read "a")' >reads.lua

# Output and exit status of a command, without the program's name; $input is its standard input.
input=
both() {
    local program=$1
    shift
    printf '%s' "$input" | "$program" "$@" >out 2>err
    echo "status ${PIPESTATUS[1]}"
    sed "s|$program|PROG|g; s|^lua5.4:|PROG:|" out
    echo "--"
    sed "s|$program|PROG|g; /^  --plain /d; /^  --card /d; /^  --version /d; /^gpush [a-z]* /d" err
}

same() { # NAME ARGUMENTS...
    local name=$1
    shift
    tap_is "$(both "$gpush" "$@")" "$(both lua5.4 "$@")" "$name"
}

same "nothing to do" -e ''
same "a script and its arguments" args.lua a 'b c' -x
same "options before a script" -W -e 'x = 1' args.lua a
same "-- before a script" -- args.lua a
same "a script that fails" fails.lua
same "a syntax error" syntax.lua
same "a script that is not there" nosuch.lua
same "a folder for a script" .
same "an empty script" empty.lua
same "a byte order mark" bom.lua
same "error()" nothing.lua
same "an error object with __tostring" object.lua
same "an error object without" table.lua
same "os.exit" exit.lua
same "-e" -e 'print(1 == 1.0, ...)' -e 'print(x)'
same "-e fails" -e 'error "no"' -e 'print "never"'
same "-e with a syntax error" -e 'x = ='
same "-l" -l mod -e 'print(mod.name)'
same "-l with a name" -l m=mod -e 'print(m.name, mod)'
same "-l of what is not there" -lnosuch.module
same "-l of a module that does not compile" -l syntax
same "-e without an argument" -e
same "-l before an option" -l -i
same "an unknown option" -x args.lua
same "an unknown long option" --nosuch
same "-E with more" -Ex
same "warnings" -W -e 'warn "a" warn("b", "c") warn "@off" warn "d"'
same "no warnings" -e 'warn "a" warn "@on" warn "d"'
same "arg without a script" -e 'print(arg[0], #arg, arg[1], arg[2], arg[3])'
same "a negative index of arg" -e 'for i = -2, 0 do print(arg[i]) end' args.lua
export LUA_INIT='print "init" init = 1'
same "LUA_INIT" -e 'print(init)'
same "-E ignores it" -E -e 'print(init)'
export LUA_INIT=@init.lua
same "LUA_INIT of a file" -e 'print(init)'
export LUA_INIT=@nosuch.lua
same "LUA_INIT of no file" -e 'print "never"'
export LUA_INIT_5_4='init = "5.4"'
same "LUA_INIT_5_4 comes first" -e 'print(init)'
export LUA_INIT_5_4='x = ='
same "an error in it" -e 'print "never"'
unset LUA_INIT LUA_INIT_5_4
export LUA_PATH="$TMPDIR/no/?.lua;;"
same "LUA_PATH" -e 'print(package.path) print(pcall(require, "nosuch.x"))'
same "-E ignores that too" -E -e 'print(package.path)'
export LUA_PATH="$TMPDIR/?.lua"
same "a module by LUA_PATH" -e 'print(require "mod".name, select(2, require "mod"))'
unset LUA_PATH
input='print("from a pipe", ...)'
same "a script from a pipe"
same "a script named -" - a b
input='x = = 1'
same "a syntax error from a pipe"
input='typed'
same "a script that reads" reads.lua
input=$'1 + 1\nx = 5\nif x then\nprint "in"\nend\nerror "oh"\n= x, nil\n'

for line in "x = " "if x then"; do
    tap_is "$("$gpush" -e "$line" 2>&1 | wc -l)" 1 "what is not finished gets no hint: $line"
done
session=$(printf '%s' "$input" | "$gpush" -i 2>err)
banner="$("$gpush" -v)  ? for help"
tap_is "$session" "$banner"$'\n> 2\n> > >> >> in\n> > 5\tnil\n> ' "-i with a pipe"
tap_is "$(printf 'for i = 1, 2 do\n' | "$gpush" -i 2>&1 >out)" "stdin[1]:1: 'end' expected near <eof>" "the input ends in a block: its message stands"
tap_is "$(cat err)" $'stdin[4]:1: oh\nstack traceback:\n\t[C]: in function '"'error'"$'\n\tstdin[4]:1: in main chunk\n\t[C]: in ?' "its errors carry the number of the input, and no name"
trace=$(printf '%s\n' 'f = ones(3)' 'function g(a) if a == a then return 1 end end' 'g(f)' 'm = nn.Linear(3, 2)' 'm(ones(7))' |
    "$gpush" -i 2>&1 >/dev/null)
tap_is "$trace" $'stdin[2]:1: the truth value of a tensor with 3 elements is ambiguous; use :any() or :all(), or ~= nil
    1 | function g(a) if a == a then return 1 end end
        a is f32 3 cpu
stack traceback:\n\tstdin[2]:1: in function '"'g'"$'\n\tstdin[3]:1: in main chunk\n\t[C]: in ?
stdin[5]:1: Linear: linear: x is f32 7 and has 7 features, the weight is f32 2x3 (expected outputs x 7)
stack traceback:\n\tstdin[5]:1: in main chunk\n\t[C]: in ?' "a line that is a call finds itself in errors; helpers of tensor syntax are left out"
cat >deep.lua <<'END'
local m, n = nn.Linear(2, 2), 30
function m:forward(x) n = n - 1 if n == 0 then error "deep" end local y = self(x) return y end
local y = m(ones(2))
END
tap_is "$("$gpush" deep.lua 2>&1 | sed -n '/traceback/,$p' | sed 's/^\t//' | uniq -c | sed 's/^ *//')" \
    "1 stack traceback:
1 [C]: in function 'error'
5 deep.lua:2: in field 'forward'
1 ...$(printf '\t')(skipping 41 levels)
4 deep.lua:2: in field 'forward'
1 deep.lua:3: in main chunk
1 [C]: in ?" "where levels of a deep stack are left out, those that follow are known"
tap_is "$("$gpush" -e 'local function f() return 1 + f() end f()' 2>&1 | grep -c 'skipping')" 1 \
    "so they are of one that overflowed"
tap_is "$("$gpush" -e '1 + 1, "a"' -e 'x = 3' -e x 2>&1)" $'2\ta\n3' "-e shows an expression's values"
tap_is "$("$gpush" -e 'zeros(2)' -e 'io.write "b\n"' -e 'tostring(1)' -e 'ones(3):sum():item()' -e 'pcall(f)' 2>&1)" \
    $'tensor({0.0, 0.0}, f32 2 cpu)\nb\n1\n3.0' "of a call a tensor, a number and text"
tap_is "$("$gpush" -e 'zeros(3) + zeros(4)' 2>&1 | head -n 1 | sed 's/.*: add/add/')" \
    "add: shapes 3 and 4 do not broadcast (dim 1 from the end: 3 and 4)" "an expression's own error"
tap_is "$("$gpush" --plain -e '1 + 1' 2>&1 | sed 's/.*: //')" "unexpected symbol near '1'" "stock Lua has none"
echo 'x = 3 error "oh"' >fails.lua
tap_is "$(echo x | "$gpush" -i fails.lua 2>err; echo $?) $(head -n 1 err)" "$banner
> 3
> 
0 $gpush: fails.lua:1: oh" "-i stays after a script's error, with what it made"
tap_is "$(echo x | "$gpush" -i -e 'x = 4 error "oh"' 2>/dev/null | sed -n 2p)" "> 4" "and after -e's"
# What scripts/lib.sh writes of the CUDA plug-in's build: how it ended is said once, at the next prompt.
sed -n 's/^ *echo "\(the CUDA plug-in is being built\)".*/\1/p' "$GPUSH_ROOT/scripts/lib.sh" >state
begun=$(wc -l <state)
said=$(printf '1\nos.execute "echo the plug-in could not be built >state"\n2\n3\n' |
    GPUSH_CUDA_BUILD=state "$gpush" -i 2>&1 >/dev/null)
tap_is "$begun $said" "1 the plug-in could not be built" "the prompt says how a build beside it ended"
shown=$(printf 'setmetatable({}, {__echo = false})\n' | "$gpush" -i 2>&1)
tap_is "$shown" "$banner"$'\n> > ' "the prompt does not echo what has been shown"
"$gpush" -v | grep -Eq '^gpush [0-9.]+, Lua 5\.4\.[0-9]+ .*PUC-Rio$'
tap_ok $? "-v says gpush's version and Lua's"
version=$(sed -n 's/^project(gpush VERSION \([0-9.]*\) .*/\1/p' "$GPUSH_ROOT/CMakeLists.txt")
tap_is "$("$gpush" -v | sed 's/,.*//') $("$gpush" -e 'print(gpush._VERSION)') $(grep -o '"gpush [0-9][^"]*"' "$GPUSH_BUILD/docs/gpush.1")" \
    "gpush $version $version \"gpush $version\"" "-v, gpush._VERSION and the man page say CMakeLists.txt's version"
tap_empty "$(cd "$GPUSH_ROOT" && grep -rlF "$version" --include='*.[ch]' --include='*.lua' --include='*.1' tensor kernels profile bindings shell scripts)" \
    "which stands nowhere else"
for option in --help -h; do
    help=$(exec -a /some/where/other "$gpush" "$option" 2>err)
    tap_is "$? $(head -n 1 <<<"$help") $(cat err)" '0 usage: other [options] [script [args]] ' "$option: usage on stdout, by the name it was called by"
    grep -q '^gpush doctor says' <<<"$help" && grep -q -- '  --plain ' <<<"$help" && grep -q -- '--version is -v' <<<"$help"
    tap_ok $? "$option tells the options and doctor" "$help"
done
tap_is "$("$gpush" help)" "$("$gpush" --help)" "gpush help is gpush --help"
for command in record mcp analyze fit kernel run; do
    tap_is "$("$gpush" help $command)" "$("$gpush" $command --help)" "gpush help $command is gpush $command --help"
done
[[ $("$gpush" help profile) == *$'\nthe command: gpush profile --help' ]]
tap_ok $? "of a command that is a topic, too, both are named"
got=$("$gpush" help out of memory 2>err)
tap_is "$? $(cat err)" "0 " "gpush help searches for words"
grep -q '^memory ' <<<"$got"
tap_ok $? "and finds what they are about" "$got"
for bad in 'help xyzzy' 'lab nosuch' 'lab' 'doctor x' 'labs x' '--card h300 -e 1' '--card none -e 1' 'lab svd --card h300' 'lab svd --nosuch'; do
    got=$("$gpush" $bad 2>&1)
    tap_is "$? $(grep -c 'traceback\|\[string' <<<"$got")" "$([[ $bad =~ ^(lab|lab svd .*|doctor x|labs x)$ ]] && echo 2 || echo 1) 0" \
        "gpush $bad: a message and no traceback" "$got"
done
tap_is "$("$gpush" nosuch 2>&1)" "$gpush: there is no command and no script 'nosuch'; gpush --help lists the commands" "gpush nosuch"
for card in none h300; do tap_is "$("$gpush" --card $card -e 1 2>&1 | wc -l)" 1 "--card $card: one line"; done
tap_is "$("$gpush" --card h300 2>&1 | cut -d: -f2-)" ' sim.card: no card '"'h300'"' is known (expected "h200", "h100", "a100", "v100", "mi250", "t4", or a table of figures)' \
    "--card names the cards"
tap_is "$("$gpush" doctor --help | head -n 1)" "usage: gpush doctor" "the doctor has a help"
names=$(cd "$GPUSH_ROOT/scripts/labs" && grep -l '^-- Lab: ' *.lua | sed 's/\.lua//')
tap_is "$("$gpush" labs | grep -v ^gpush | cut -d' ' -f1 | sort)" "$names" "gpush labs lists all of them"
for name in $names; do
    got=$("$gpush" lab "$name" --help 2>&1)
    tap_is "$? $(head -c 5 <<<"$got") $(grep -c "^  gpush lab $name \[" <<<"$got") $(wc -L <<<"$got" | awk '$1 > 80')" "0 Lab:  1 " \
        "gpush lab $name --help prints its header, in 80 columns" "$got"
done
tap_is "$("$gpush" lab gathernd --device cpu --rows 3 --size 4 | head -n 1 | cut -d' ' -f1)" "GatherND:" "gpush lab runs one"
touch help lab
tap_is "$("$gpush" help)$("$gpush" lab nosuch)" "" "a script of that name has precedence"
rm help lab
tap_is "$("$gpush" --version 2>&1; echo $?)" "$("$gpush" -v)"$'\n0' "--version is -v"
tap_is "$("$gpush" -i --nosuch 2>&1 >out; echo "$? $(wc -c <out)")" "$("$gpush" --nosuch 2>&1)"$'\n1 0' "a wrong option: usage on stderr alone"

# A file that is not Lua gets an error with its kind.
printf 'import torch\nx = torch.ones(3)\n' >train.py
printf '\nx = 1\n\ndef f(x):\n    return x\n' >train
printf '{"cells": [], "nbformat": 4}\n' >note.ipynb
printf 'PK\3\4\24\0\0\0' >model.pt
printf '\211PNG\r\n\032\n' >a.png
printf 'x = 1\nclass = \n' >mine.lua
no_lua() { # FILE TEXT: its message has TEXT, under the compiler's, and it fails
    "$gpush" "$1" >out 2>err
    tap_is "$? $(head -n 1 err | grep -c "$1:") $(grep -c "^        this is $2" err)" "1 1 1" "$1: $2"
}
no_lua train.py "Python, and gpush runs Lua: run it with python3"
no_lua train "Python, and gpush runs Lua"
no_lua note.ipynb "a Jupyter notebook, .* jupyter nbconvert --to script note.ipynb"
no_lua model.pt "a zip archive: .* PyTorch's (.pt) .* is not read: convert it in Python"
no_lua a.png "a PNG picture: image.load reads it"
tap_is "$("$gpush" mine.lua 2>&1)" "$gpush: mine.lua:3: unexpected symbol near <eof>" "but not Lua with an error"
tap_is "$("$gpush" . 2>&1; echo $?)" "$gpush: cannot read .: Is a directory"$'\n1' "a folder"

tap_is "$("$gpush" -v -e 'print(1)' | tail -n 1)" 1 "-v goes on with -e"
tap_is "$("$gpush" --plain -e 'print(getmetatable(string), load, next(_G) ~= nil)' | cut -c1-13)" "nil	function:" "--plain leaves Lua alone"
for k in '"(?)"' '"(==)"'; do tap_is "$("$gpush" --plain -e "print(_G[$k])")" nil "--plain: no helper $k"; done
"$gpush" -e 'for k, v in pairs(gpush) do if k ~= "_VERSION" and k ~= "select" then assert(rawequal(_G[k], v), k) end end assert(select("#", 1) == 1)'
tap_ok $? "the module's names are globals, and Lua's stay Lua's"
tap_is "$("$gpush" -e 'print(require "gpush" == gpush, package.loaded.gpush == gpush)')" "true	true" "gpush is the module"
luac=$(command -v luac5.4 || command -v luac)
if [ -n "$luac" ]; then
    "$luac" -o script.luac args.lua
    "$gpush" script.luac >out 2>err
    tap_is "$? $(sed 's/.*: attempt/attempt/; q' err)" "1 attempt to load a binary chunk (mode is 't')" "a script is text, not bytecode"
else
    tap_skip "no luac"
fi

# Names of files may hold what a terminal obeys.
for words in "analyze $'-\e]0;pwn\a'" "analyze $'x\e[31m'" "lab $'a\e[31m'" "record --steps $'\e[31m' x.py"; do
    said=$(eval "\"\$gpush\" $words" 2>&1 </dev/null | LC_ALL=C grep -c $'\e')
    tap_is "$said" 0 "no escape reaches the terminal: $words"
done
tap_done
