#!/bin/bash
# Characters of several code points in the prompt's editor: each counts as one, is as wide as it
# looks, and the cursor stays in step. The text after them shows their width in a row; tmux's own
# rendering of the emoji does not matter.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
. "$root/tests/support/screen.sh"
cd "$HOME" || exit 1
echo 'io.write "\27[2J\27[H"' >clear.lua
session() { screen "$1" 10 "$build/gpush -i clear.lua"; until_ at 2,0; }
family=👨‍👩‍👧 hand=👍🏽 flag=🇩🇪 heart=❤️ key1=1️⃣ accent=$'e\u0301' scotland=🏴󠁧󠁢󠁳󠁣󠁴󠁿
# again TEXT: a new line with it.
again() { key C-u; until_ at 2,0; type_ "$1"; }

session 40
for what in "$family" "$hand" "$flag" "$heart" "$key1" "$scotland" $'\U1FAE8'; do
    again "${what}x"
    cursor_at 5,0 "$what is two columns wide"
    key Left Left
    cursor_at 2,0 "and one step to the left"
    type_ 'ab'
    cursor_at 4,0 "what is typed before it"
    key Right
    cursor_at 6,0 "and one to the right"
    key BSpace
    rows 1 '> abx' "it is deleted whole"
    cursor_at 4,0 "and the cursor is there"
done
again "${accent}x"
cursor_at 4,0 "a letter with an accent is one column wide"
key Left BSpace
rows 1 '> x' "and one character"
again "काx"
cursor_at 5,0 "a consonant and its vowel sign are two columns wide"
key Left Left
cursor_at 2,0 "and one character"
again "🇩x🇪-"
key Left Left BSpace
rows 1 "> $flag-" "two halves that meet are one flag"
key Delete
rows 1 "> $flag" "what follows it is another"
key BSpace
rows 1 ">" "it goes as one"
key C-_
rows 1 "> $flag" "and comes back"

# The text is unchanged, also in the history.
again "#'$family$accent'"
key Enter
sees $'\n21\n>' "the chunk has all bytes"
key Up
cursor_at 8,2 "Up brings it back"
key Home Right Right Delete
sees "> #'$accent'" "and Delete takes the family"
key C-c
ready

# At the edge.
session 10
type_ "123456$family"
cursor_at 0,1 "one that fills the row"
type_ "$family"
rows 2 "$family" "the next is on the next row" # of the one at the edge tmux 3.4 shows the first part
key C-a
type_ 'x'
rows 1 $'> x123456\n'"$family$family" "one that does not fit moves on"
cursor_at 3,0 "and the cursor stands where the text goes on"
key C-e
cursor_at 4,1 "or ends"
key C-c

# Outside sources: pasted text, and a history file with invalid contents.
session 40
paste $'a\u202eb\u009b31mc'
rows 1 '> ?b31mc' "what turns or controls the terminal is not sent to it"
cursor_at 8,0 "and is one column wide"
key C-c
until_ has '^C'
key C-d
until_ eval '! tm list-sessions >/dev/null 2>&1'
printf 'x = "\e[31m\xc2\x9b31mred\x7f"\n' >>"$HOME/.local/state/gpush/history"
session 40
key Up
rows 1 '> x = "?[31m?31mred?"' "nor what the history holds"
cursor_at 21,0 "which is edited"
colours $'"?[31m?31mred?"' "as it stands"
key C-c
until_ has '^C'
key C-d
until_ eval '! tm list-sessions >/dev/null 2>&1'
printf '%s\n' $'y = 7\\ny\\nz = "\e[31mred"' >>"$HOME/.local/state/gpush/history"
session 40
key Up
until_ has 'red'
key Enter
rows 4 $'> y\n7\n> z = "\\x1b[31mred"\n>' "nor when it runs chunk by chunk"

# vi's commands take whole ones, too.
echo 'bind -v' >"$HOME/.editrc"
session 40
type_ "a${family}b$flag"
key Escape h x
rows 1 "> a$family$flag" "vi: x"
key h x
rows 1 "> a$flag" "vi: h and x take one whole"
rm "$HOME/.editrc"

# Where no locale is chosen, letters beyond ASCII can be typed all the same.
screen 40 10 "env -u LC_ALL -u LANG -u LC_CTYPE $build/gpush -i clear.lua"
until_ at 2,0
type_ "'äé한'"
rows 1 "> 'äé한'" "typed without a locale"
cursor_at 8,0 "as wide as they are"
tap_done
