#!/usr/bin/env bash
# The options that each command's --help has are those of the man page and of the completions for
# bash, zsh and fish; what bash offers where.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
gpush=${GPUSH_BUILD:-$root/build/default}/gpush
. "$root/tests/support/tap.sh"
cd "$HOME" || exit 1
completion=$root/scripts/completion
compopt() { :; } # works only where the shell itself completes
. "$completion/gpush.bash"

# offers WORD...: what bash completes the last word to.
offers() {
    COMP_WORDS=(gpush "$@") COMP_CWORD=$# COMPREPLY=()
    _gpush
    printf '%s\n' "${COMPREPLY[@]}"
}
# missing OPTIONS TEXT: those that the text lacks.
missing() {
    local option gone=
    for option in $1; do
        grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" <<<"$2" || gone+=" $option"
    done
    echo "$gone"
}
for command in analyze compare fit kernel profile record run sync; do
    options=$("$gpush" $command --help | sed -nE 's/^  (--?[a-z-]+).*/\1/p')
    [ "$(wc -w <<<"$options")" -gt 2 ]
    tap_ok $? "$command: --help lists options"
    tap_empty "$(missing "$options --help" "$(offers $command --; offers $command -)")" "$command: bash has all of them"
    tap_empty "$(missing "$(offers $command - | grep -v -- --help)" "$options")" "$command: and no other"
    tap_empty "$(missing "$options --help" "$(sed -n "/== $command /,/return/p" "$completion/gpush.zsh")")" "$command: zsh has them"
    fish=$(sed -nE "s/^__gpush_option $command ([a-z-]+).*/--\1 -\1/p; /^for c in .*$command/,/^end/s/ *__gpush_option .c ([a-z-]+).*/--\1/p" "$completion/gpush.fish")
    tap_empty "$(missing "$options" "$fish")" "$command: fish has them"
    tap_empty "$(missing "$options" "$(sed -n "/^\.B gpush $command\$/,/^\.PP/p" "$root/scripts/man/gpush.1" | sed 's/\\-/-/g')")" "$command: the man page has them"
    if command -v fish >/dev/null; then
        tap_empty "$(missing "$options" "$(fish --no-config -c "source $completion/gpush.fish; complete -C 'gpush $command -'; complete -C 'gpush $command --'")")" \
            "$command: fish itself offers them"
    else
        tap_skip "fish is not installed"
    fi
done
tap_empty "$(missing "$("$gpush" --help | sed -nE 's/^  (--?[A-Za-z]+).*/\1/p') --version" "$(offers -)")" "bash has gpush's own options"
mkdir -p here/folder && cd here || exit 1
touch some.lua other.json
tap_is "$(offers '' | sort | paste -sd ' ')" "analyze compare doctor fit folder help kernel lab labs mcp profile record run some.lua sync" "scripts and commands come first"
tap_is "$(offers sync --budget '')" "" "no value is known"
tap_is "$(offers sync --baseline o)" other.json "a file"
tap_is "$(offers sync --budget 3 --ba) $(offers sync --quiet so)" "--baseline some.lua" "options after a value, and the script"
tap_is "$(offers sync some.lua --b) $(offers profile --table some.lua --h)" " " "after the script words are its own"
tap_is "$(offers profile --group r) $(offers analyze a.json --group ra)" "region rank" "the rows that there are"
names=$("$gpush" labs | sed -n 's/^\([a-z_]*\)  *.*/\1/p' | grep -v ^gpush)
tap_is "$(offers lab '' | sort | paste -sd ' ')" "$(printf '%s\n' $names --help | sort | paste -sd ' ')" "the labs"
tap_empty "$(for file in fish zsh; do missing "$names" "$(grep gathernd "$completion/gpush.$file")"; done)" "which fish and zsh have, too"
if command -v zsh >/dev/null; then
    zsh -n "$completion/gpush.zsh"
    tap_ok $? "the completion for zsh is zsh"
else
    tap_skip "zsh is not installed"
fi

# A folder is no script: it does not hide the command of its name.
mkdir profile doctor
tap_is "$("$gpush" profile --help | head -1)" "usage: gpush profile [options] script [args]" "a folder named profile"
"$gpush" doctor 2>&1 | grep -q '^ok  gpush'
tap_ok $? "a folder named doctor"
echo 'print("mine")' >sync
tap_is "$("$gpush" sync)" mine "a script goes before the command of its name"
tap_done
