#!/bin/bash
# The prompt on a screen: blocks edited as one text, wrapping, wide characters, resize, paste,
# search, undo, colours.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
. "$root/tests/support/screen.sh"
gpush="$build/gpush -i $HOME/clear.lua"
echo '_SUGGEST = false; io.write "\27[2J\27[H"' >"$HOME/clear.lua"
history=$HOME/.local/state/gpush/history
mkdir -p "${history%/*}" && : >"$history" && chmod 644 "$history" # from before it was the user's alone

# session [COLUMNS ROWS [PREFIX]]: a fresh prompt in the first row.
session() {
    screen "${1:-60}" "${2:-16}" "${3-} $gpush"
    until_ fresh
}
fresh() { [[ $(shown) =~ ^'>'\ ?$ ]] && at 2,0; }

# Blocks.
session
enter 'for i = 1, 2 do'
cursor_at 4,1 "Enter in an open block begins an indented line"
enter 'if i > 1 then'
enter 'print("i is", i)'
enter 'end'
rows 1 $'> for i = 1, 2 do\n    if i > 1 then\n        print("i is", i)\n    end' "a line that closes a block is brought out"
cursor_at 4,4 "and the next one stands beside it"
enter 'end'
rows 5 $'end\ni is    2\n>' "a complete block runs"
key Up
rows 7 $'> for i = 1, 2 do\n    if i > 1 then\n        print("i is", i)\n    end\nend' "Up brings the whole block"
cursor_at 3,10 "with the cursor at its end"
key Up Up
cursor_at 3,8 "Up then moves through its lines"
key C-e
type_ ' -- note'
key Up Up
key C-a
type_ 'local k '
rows 7 $'> local k for i = 1, 2 do\n    if i > 1 then\n        print("i is", i) -- note\n    end\nend' "lines are edited where they are"
key C-_
sees '> local for' "undo takes back a word"
key C-_ C-_
gone '-- note' "and what was typed before"
key Enter
sees $'i is    2\n> for' "Enter inside a complete block runs all of it"
key C-c
until_ has '^C'
enter 'x = {'
enter '1, 2,'
run '}'
enter '#x'
sees $'}\n> #x\n2\n>' "brackets keep a chunk open"
ready
enter 'return (' ; enter '7)'
sees $'7)\n7' "a bracket in an expression"
ready
type_ 'a = 1'; key M-Enter; type_ 'b = 2'; key Enter; ready
enter 'a + b'
sees $'> a = 1\nb = 2\n> a + b\n3' "Alt-Enter begins a line in a complete chunk"

# Wrapping and wide characters.
session 40 12
type_ 'x = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"'
rows 1 $'> x = "aaaaaaaaaabbbbbbbbbbccccccccccddd\nddddddd"' "a long line wraps"
cursor_at 8,1 "with the cursor after its end"
key C-a
cursor_at 2,0 "Ctrl-A is its start"
type_ 'yy'
rows 1 $'> yyx = "aaaaaaaaaabbbbbbbbbbccccccccccd\nddddddddd"' "what is inserted moves the rest"
key C-c
session 40 12
type_ 'x = "漢字テスト漢字テスト漢字テスト漢字" .. 1'
rows 1 $'> x = "漢字テスト漢字テスト漢字テスト漢\n字" .. 1' "wide characters are not cut at the edge"
cursor_at 8,1 "and counted as two columns"
key Left Left Left Left Left Left BSpace
rows 1 $'> x = "漢字テスト漢字テスト漢字テスト漢"\n .. 1' "one is deleted whole"
type_ '😀語'
rows 1 $'> x = "漢字テスト漢字テスト漢字テスト漢\n😀語" .. 1' "and others inserted"
key Enter; ready
enter '#x'
sees $'> #x\n56' "the text holds their bytes"
type_ '-- 45678901234567890123456789012345678'
key M-Enter
type_ 'z'
sees $'45678\n\nz' "a line that just fills a row, as libedit shows it"
key C-c

# Resize.
session 60 12
type_ 's = "aaaaaaaaaabbbbbbbbbbcccccccccc"'; key M-Enter; type_ 'print(#s)'
tm resize-window -x 24 -y 12
rows 1 $'> s = "aaaaaaaaaabbbbbbb\nbbbcccccccccc"\nprint(#s)' "a narrower window wraps the text again"
cursor_at 9,2 "the cursor stays at its end"
type_ ' print(2 * #s)'
rows 1 $'> s = "aaaaaaaaaabbbbbbb\nbbbcccccccccc"\nprint(#s) print(2 * #s)' "which is edited on"
tm resize-window -x 70 -y 12
sees $'\n> s = "aaaaaaaaaabbbbbbbbbbcccccccccc"\nprint(#s) print(2 * #s)' "a wider one unwraps it"
key Enter
sees $'30\n60\n>' "and it runs"

# A block with more rows than the terminal.
session 60 8
paste $'x = {\n1,\n2,\n3,\n4,\n5,\n6,\n7,\n8,\n9,\n10,\n11,\n12,\n}'
rows 1 $'6,\n7,\n8,\n9,\n10,\n11,\n12,\n}' "of a tall block the end is shown"
cursor_at 1,7 "with the cursor"
key Up Up Up
cursor_at 1,4 "which moves within what is shown"
key Up Up Up Up Up Up
rows 1 $'4,\n5,\n6,\n7,\n8,\n9,\n10,\n11,' "and takes the rows above along"
cursor_at 1,0 "at the top"
key End; type_ ' 40,'
rows 1 $'4, 40,\n5,\n6,\n7,\n8,\n9,\n10,\n11,' "what is typed there is seen there"
key Up Up Up Up
rows 1 $'> x = {\n1,\n2,\n3,\n4, 40,\n5,\n6,\n7,' "up to the first"
key Enter
sees $'12,\n}\n>' "Enter runs it and leaves its end on the screen"
enter '#x'
sees $'\n13\n>' "all of it"
key Up Up
rows 1 $'6,\n7,\n8,\n9,\n10,\n11,\n12,\n}' "the history brings it back"
tm resize-window -x 60 -y 16
rows 1 $'> x = {\n1,\n2,\n3,\n4, 40,\n5,\n6,\n7,\n8,\n9,\n10,\n11,\n12,\n}' "a higher terminal has room for all"
key C-c
session 40 6
type_ "s = '$(printf 'x%.0s' {1..300})"
key C-a C-e
type_ "$(printf 'a%.0s' {1..290})'"
key Enter
until_ has '>'
enter '#s'
sees $'> #s\n590\n>' "at the end of a line with more rows than the terminal much can be typed"

# Whatever was printed last, the prompt, an error and a value begin a line, without an empty line
# before.
session 60 16
enter 'do io.write("1\t") error("x", 0) end'
rows 1 $'> do io.write("1\\t") error("x", 0) end\n1\nx\n    1 | do io.write("1\\t") error("x", 0) end\n>' "an error begins a line"
key C-l; until_ fresh
enter 'do io.write "abc" end'
rows 1 $'> do io.write "abc" end\nabc\n>' "the prompt begins a line after output without a line end"
enter 'do os.execute "printf def" end'
rows 3 $'> do os.execute "printf def" end\ndef\n>' "also of another program"
enter 'do io.stderr:write "ghi" end'
rows 5 $'> do io.stderr:write "ghi" end\nghi\n>' "and of stderr"
enter 'do io.write "value" end return 7'
rows 7 $'> do io.write "value" end return 7\nvalue\n7\n>' "a value begins one"
enter 'print "jkl"'
rows 10 $'> print "jkl"\njkl\n>' "where the line has its end nothing is added"
enter 'x = 1'
rows 12 $'> x = 1\n>' "nor where nothing is printed"
key C-l; until_ fresh
enter 'do io.write(("m"):rep(60)) end'
rows 1 $'> do io.write(("m"):rep(60)) end\n'"$(printf 'm%.0s' {1..60})"$'\n>' "a row that is just full is one"

# Paste.
session
paste $'u = 5\nprint("ran", u)\n'
rows 1 $'> u = 5\nprint("ran", u)' "pasted lines wait for Enter"
key Enter
sees 'ran     5' "and then run"
paste $'> v = 6\n>>\n>> w = 7\n> print(v * w)'
key Enter
sees $'> v = 6\n\nw = 7\nprint(v * w)\n42' "pasted prompts are dropped"
key C-l; until_ fresh
paste $'v = {6, 7}\nfor i = 1, 2 do v[i] = v[i] + 1 end\n(v[1] *\n   v[2])'
key Enter
rows 5 $'56\n>' "an expression at the end of a block is shown"
key C-l; until_ fresh
paste $'w = math.max\n(v[1], v[2])'
key Enter
rows 3 '>' "what goes on with the line before it is no expression of its own"
run 'w'
rows 4 $'8\n>' "but its end"
key C-l; until_ fresh
paste $'v = 2\nmath.max(v, 3)'
key Enter
rows 3 $'3\n>' "a call at the end of a block is shown"
key C-l; until_ fresh
paste $'> v = 6\n> for i = 1, 2 do\n    v = v * i\nend\n> v\n11\ntensor({1}, f32 1 cpu)\n> boom()\n> v = 7\n'
rows 1 $'> v = 6\nfor i = 1, 2 do\n    v = v * i\nend\nv\nboom()\nv = 7' "a pasted session loses what it printed"
key Enter; until_ has "global 'boom'"; 
sees $'v = 7\n> for i = 1, 2 do\n    v = v * i\nend\n> v\n12\n> boom()\nstdin[10]:1:' "and runs chunk by chunk"
key C-l; until_ fresh
run 'v'
rows 1 $'> v\n12\n>' "up to the first that fails"
key Up Up
rows 3 $'> v = 6\nfor i = 1, 2 do\n    v = v * i\nend\nv\nboom()\nv = 7' "in the history it is one"
key C-c; until_ has '^C'
key C-l; until_ fresh
paste $'In [1]: y = {1,\n   ...:      2}\n\nIn [2]: #y + 1\nOut[2]: 3\n'
rows 1 $'> y = {1,\n     2}\n#y + 1' "so does one of IPython"
key Enter
sees $'2}\n#y + 1\n3\n>' "and runs"
key C-l; until_ fresh
paste $'>>> y = {1,\n...      2}\n>>> #y + 1\n3\n>>> "... dots"\n'
rows 1 $'> y = {1,\n     2}\n#y + 1\n"... dots"' "and one of Python"
key C-c; key C-l; until_ fresh
paste $'local v = 6\nv\nv = 7'
key Enter
sees 'syntax error near' "a text with local variables is one chunk"
paste $'q = \e[31m1\t2\x01'
sees 'q = [31m1' "control characters are dropped"
key C-c
until_ has '^C'
paste $'function f()\r\n    return 1\r\nend\r\n' -r
sees $'function f()\n    return 1\nend' "line ends of all kinds, and no further indentation"
key Enter
type_ 'g = '; paste 'f'; type_ '()'; key Enter; ready; enter 'g'
sees $'> g = f()\n> g\n1' "a word in the middle of a line"

# History.
session
run 'alpha = 1'
run 'beta = 2'
run ' hidden = 3'
type_ 'al'; key Up
rows 4 '> alpha = 1' "Up finds what starts like the line"
key Down
rows 4 '> al' "Down gives back what was typed"
key C-u
key Up
rows 4 '> beta = 2' "a line that starts with a space is not remembered"
key C-c
until_ has '^C'
key C-r; type_ 'lph'
rows 5 '(search: lph) alpha = 1' "Ctrl-R finds what has the text"
key C-g
rows 5 '>' "Ctrl-G gives up"
key C-r; type_ '= '
rows 5 '(search: = ) beta = 2' "the newest comes first"
key C-r
rows 5 '(search: = ) alpha = 1' "Ctrl-R again goes on"
key C-e; type_ '0'; key Enter; ready
enter 'alpha'
rows 5 $'> alpha = 10\n> alpha\n10\n>' "any other key edits what was found"
key C-r; type_ 'ap10'
sees '(search: ap10) alpha = 10' "letters in order find it, too"
type_ 'q'
sees '(not found: ap10q) alpha = 10' "what is nowhere is said to be"
key BSpace
sees '(search: ap10) alpha = 10' "until it is taken back"
key C-g

# A caret under the token at which Lua stopped.
session 50 20
enter 'x = {1, (2 + } 3)'; ready
sees $'    1 | x = {1, (2 + } 3)\n                     ^' "a caret is under the wrong token"
type_ 'for i = 1, 2 do'; key Enter; enter 'print("日本" = 1)'; enter 'end'; ready
sees $'    2 | print("日本" = 1)\n                     ^' "also of a line within, after wide characters"
enter 'y = x @ @ 3'; ready
sees $'    1 | y = x @ @ 3\n                ^' "and after tensor syntax"

# The history in grey after what is typed.
mkdir -p "$HOME/grey/gpush"
printf '%s\n' 'old = "of another session"' 'gamma = 3' 'for i = 1, 2 do\n    print(i)\nend' >"$HOME/grey/gpush/history"
grey() { type_ "$1"; colours $'\e[90m'"$2" "$3"; }
session 40 12 "XDG_STATE_HOME=$HOME/grey"
enter '_SUGGEST = true'; ready
grey 'ga' 'mma = 3' "the newest chunk that begins so is in grey after the cursor"
cursor_at 4,1 "which stays"
key Right
cursor_at 11,1 "Right takes it"
key C-u
grey 'gam' 'ma = 3' "it comes again"
key C-e; type_ '3'
rows 2 '> gamma = 33' "and End takes it"
key C-u
grey 'ol' 'd = "of another session"' "another session's comes, too"
key M-f
colours $'\e[90m = "of another session"' "Alt-F takes a word, and the rest is in grey again"
key M-f
cursor_at 11,1 "which the next one takes"
type_ 'x'
rows 2 '> old = "ofx' "what differs is gone"
key C-u
grey 'for' ' i = 1, 2 do…' "of a block the first line is shown"
key Right; rows 2 $'> for i = 1, 2 do\n    print(i)\nend' "and all of it is taken"
key C-c; until_ has '^C'
grey 'gamm' 'a = 3' "and again"
key Left
gone 'gamma' "nothing is suggested before the end of the text"
key C-e Enter
sees "global 'gamm' is nil" "Enter runs what was typed, not what is grey"
tap_is "$(stat -c %a "$history")" 600 "the history is the user's alone"
tap_is "$(grep -c hidden "$history")" 0 "the hidden line is not in the file"
tap_is "$(grep -cFx 'for i = 1, 2 do\n    if i > 1 then\n        print("i is", i)\n    end\nend' "$history")" 1 "a block is one entry"

session 60 16 'XDG_STATE_HOME=/proc/none'
run 'gamma = 3'
rows 2 "the history is this session's only: /proc/none/gpush/history"$'\n'": No such file or directory"$'\n>' "a history that cannot be written is said to be"
run 'delta = 4'
rows 4 $'> delta = 4\n>' "once"

printf '#!/bin/sh\nprintf "function g()\\n    return 9\\nend" >"$1"\n' >"$HOME/ed" && chmod +x "$HOME/ed"
session 60 16 "EDITOR=$HOME/ed"
run ':edit'
key Up
rows 2 $'> function g()\n    return 9\nend' "what was written in the editor is there, too"

# A file that holds twice as many entries as are kept is cut back to the last of them.
mkdir -p "$HOME/many/gpush"
seq -f "-- %.0f" 200001 >"$HOME/many/gpush/history"
screen 60 16 "XDG_STATE_HOME=$HOME/many $gpush"
until_ fresh
tap_is "$(wc -l <"$HOME/many/gpush/history") $(head -n 1 "$HOME/many/gpush/history")" "100000 -- 100002" "a long history is cut back"
run 'b = "x\ny"'
tap_is "$(tail -n 1 "$HOME/many/gpush/history")" 'b = "x\\ny"' "a backslash is no line end when it is read back"
tm kill-server

# A full disk: a partial line would be read back as one with the next.
mkdir -p "$HOME/full"
if mount -t tmpfs -o size=4k tmpfs "$HOME/full" 2>/dev/null; then
    mkdir "$HOME/full/gpush"
    printf '%4090s\n' '-- old' >"$HOME/full/gpush/history"
    screen 60 16 "XDG_STATE_HOME=$HOME/full $gpush"
    until_ fresh
    run 'full = "a disk"'
    key Up
    sees "No space left on device" "where the disk is full it is said"
    sees $'\n> full = "a disk"' "and the session remembers"
    tap_is "$(stat -c %s "$HOME/full/gpush/history")" 4091 "and the file is what it was"
    tm kill-server
    umount -l "$HOME/full"
else
    tap_skip "no file system can be mounted here"
    tap_skip "no file system can be mounted here"
    tap_skip "no file system can be mounted here"
fi

# Two shells at once.
screen 60 16 "$gpush"
tm split-window "$gpush"
until_ has '>'
for i in 1 2 3 4 5 6; do
    tm send-keys -t 0 "first = $i" Enter
    tm send-keys -t 1 "second = $i" Enter
done
tm send-keys -t 0 C-d
until_ eval '[ "$(tm list-panes | wc -l)" = 1 ]'
key C-d
until_ eval '! tm list-sessions >/dev/null 2>&1'
tap_is "$(grep -c '^first = [1-6]$' "$history"),$(grep -c '^second = [1-6]$' "$history")" 6,6 "two shells lose nothing of each other"

# Colours and brackets.
session
type_ 'local s = "text" -- 1'
colours $'\e[35mlocal\e[39m' "a keyword has a colour"
colours $'\e[32m"text"\e[39m' "a string too"
key C-c
type_ 'f({1}[1])'
colours $'f\e[1;4m(' "the bracket that the cursor's one belongs to is marked"
session 60 16 "NO_COLOR=1"
type_ 'local s = "text"'
sees 'local s = "text"' "NO_COLOR: the text is there"
tap_is "$(shown -e | grep -c $'\e')" 0 "without colours"

# Keys without a meaning, and late answers of the terminal.
session
type_ 'one two'
key F5 PageUp S-F3 C-Up S-Left C-Left S-Left
type_ $'\e[6;20;10t'; type_ $'\e]11;rgb:0000/0000/0000\e\\'; type_ $'\e_Gi=31;OK\e\\'
type_ '-'
rows 1 '> one- two' "they leave no trace, and an arrow with Shift is an arrow"
key C-c

# vi's keys, as ~/.editrc asks for.
echo 'bind -v' >"$HOME/.editrc"
session
type_ 'value = 12'
key Escape 0 i
type_ 'x'
rows 1 '> xvalue = 12' "vi: escape, 0 and i"
key Escape u
rows 1 '> value = 12' "vi: u undoes"
key A
type_ '3'
key Enter; ready
enter 'value'
rows 1 $'> value = 123\n> value\n123\n>' "vi: A appends, Enter runs"
key Escape k k
rows 4 '> value = 123' "vi: k goes back in the history"
type_ 'A'
paste $'\nprint("v")'
rows 4 $'> value = 123\nprint("v")' "vi: a paste goes into the text"
key C-c
until_ has '^C'
type_ 'one two'
key Left; type_ '-'; key Home; type_ '+'; key End Left Delete; type_ '!'
sees '> +one tw-!' "vi: arrows, Home, End and Delete while one inserts"
key Escape
for k in _ '#' v G @ : "'" U; do key "$k"; done
key / ; type_ 'val'
sees '(search: val) value' "vi: / searches; what libedit's own history would be asked for does nothing"
key C-c
session 40 12
key Escape '$' i
type_ '6 * 7'
key Enter
sees $'> 6 * 7\n42' "vi: \$ in an empty text leaves the cursor in the text"
type_ 'ab'
key C-g
type_ 'cd'
sees '> ab?cd' "vi: a control character has a cell"
cursor_at 7,2 "one, for the cursor too"
key C-c
session 20 5
type_ "s='$(printf 'x%.0s' {1..74})'"
key Escape R
type_ "'"
key Enter
ready
enter '#s'
sees $'> #s\n74\n>' "vi: R over the last letter of a row that is full, above the terminal's last"

# The user's keys take precedence over ours.
printf '%s\n' '# mine' 'bind -e' 'bind "^T" ed-newline' 'bind "^[[15;2~" ed-move-to-beg' 'bind "^R" ed-move-to-beg' 'gpush:bind "^[[A" ed-delete-prev-char' 'bind "^[z" gpush-undo' >"$HOME/.editrc"
session
type_ 'abc'
key C-r
cursor_at 2,0 "a key that is bound in ~/.editrc is the user's"
key C-e Up
rows 1 '> ab' "an arrow too"
key M-z M-z
rows 1 '>' "our commands may be bound"
type_ 'ab'; key S-F5; type_ 'c'
rows 1 '> cab' "and any sequence"
key C-c; until_ has '^C'
type_ '3 * 7'; key C-t
sees $'> 3 * 7\n21' "libedit's own end of a line runs it"
key M-x; type_ "'a"; key C-u; type_ '4 * 7'; key Enter
sees $'> 4 * 7\n28' "what would read libedit's commands, and crash, is nothing"
rm "$HOME/.editrc"

# A table that is wider than the terminal.
session 90 16
run 'x = ones(3, {device = "sim"}):sum():item()'
run ':sync'
sees $'\n    in a loop keep the number on the device as a 0-d tensor and read it once after it, or\n' "the report's last column stands below"
tap_done
