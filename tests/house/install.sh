#!/bin/bash
# Where `cmake --install` and the Debian package put files, and that gpush runs there without the
# source tree.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset LUA_PATH LUA_CPATH
arch=$(dpkg --print-architecture 2>/dev/null)

# files_in PREFIX: every expected file is there.
files_in() {
    local f gone=
    for f in bin/gpush lib/lua/5.4/gpush.so share/man/man1/gpush.1 share/bash-completion/completions/gpush \
        share/zsh/site-functions/_gpush share/doc/gpush/copyright share/doc/gpush/reference.md share/gpush/library/gpush.lua; do
        [ -s "$1/$f" ] || gone+=$f$'\n'
    done
    while read -r f; do
        [ -s "$1/share/gpush/$f" ] || gone+=$f$'\n'
    done < <(cd "$root/scripts" && find . -name '*.lua')
    tap_empty "$gone" "$2: every file is there"
}

# runs_in PREFIX NAME: program and module run, with their own Lua files, from any directory and
# through a link. A mark at the head of the installed init.lua shows which one was read.
runs_in() {
    sed -i '1i io.write("[own]")' "$1/share/gpush/lua/init.lua"
    tap_is "$(cd / && "$1/bin/gpush" -e 'print(zeros(2, 3):sum():item())' 2>&1)" "[own]0.0" "$2: the program runs"
    mkdir -p "$scratch/links"
    ln -sf "$1/bin/gpush" "$scratch/links/gpush"
    tap_is "$(cd / && PATH=$scratch/links:$PATH gpush -e 'print(1)' 2>&1)" "[own]1" "$2: also through a link on the PATH"
    tap_is "$(cd / && LUA_CPATH="$1/lib/lua/5.4/?.so" stock -e 'print(require "gpush".ones(4):sum():item())' 2>&1)" \
        "[own]4.0" "$2: stock lua5.4 loads the module"
    tap_is "$(cd "$1/lib/lua/5.4" && LUA_CPATH="./?.so" stock -e 'print(require "gpush".ones(4):sum():item())' 2>&1)" \
        "[own]4.0" "$2: also by a relative path"
}

# lua5.4, with the sanitiser's runtime preloaded where the module needs it.
stock() {
    local lib=
    case ${GPUSH_SAN-} in
        *address*) lib=$(gcc -print-file-name=libasan.so) ;;
        *thread*) lib=$(gcc -print-file-name=libtsan.so) ;;
    esac
    LD_PRELOAD=$lib lua5.4 "$@"
}

# undeclared DEPENDS: the packages of the libraries that the program itself needs and that are
# missing from DEPENDS.
undeclared() {
    local lib path package
    for lib in $(readelf -d "$build/gpush" | sed -n 's/.*(NEEDED).*\[\(lib.*\)\]/\1/p'); do
        path=$(readlink -f "$(ldd "$build/gpush" | awk -v lib="$lib" '$1 == lib { print $3 }')")
        # dpkg knows some libraries by the path from before /usr was merged.
        package=$(dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}")
        package=${package%%:*}
        [[ $1 == *$package* ]] || echo "$package, for $lib, is not in $1"
    done
}

cmake --install "$build" --prefix "$scratch/usr" >"$scratch/log" 2>&1
tap_ok $? "cmake --install" "$(cat "$scratch/log")"
files_in "$scratch/usr" installed
runs_in "$scratch/usr" installed
out=$(man --warnings=all -l "$scratch/usr/share/man/man1/gpush.1" 2>&1 >/dev/null) || out=
tap_empty "$out" "the man page has no warnings"
# One text: an op's help in the man page, the reference and the declarations for editors.
help=$("$build/gpush" -e 'io.write(ops(true).matmul.help)')
for f in man/man1/gpush.1 doc/gpush/reference.md gpush/library/gpush.lua; do
    grep -qF -- "$help" "$scratch/usr/share/$f"
    tap_ok $? "$f says what help says"
done
if command -v man >/dev/null; then
    grep -q '^:timeit expr' <(man -l "$scratch/usr/share/man/man1/gpush.1" 2>/dev/null | sed 's/^ *//;s/.\x08//g')
    tap_ok $? "the man page has the prompt's commands"
else
    tap_skip "man is not installed"
fi
tap_is "$(lua5.4 -e 'print(loadfile(arg[1]) and "loads")' "$scratch/usr/share/gpush/library/gpush.lua" 2>&1)" loads "the declarations are Lua"
bash -n "$scratch/usr/share/bash-completion/completions/gpush"
tap_ok $? "the bash completion is bash"

if [ -n "${GPUSH_SAN-}" ]; then
    tap_skip "a package of a sanitised build is nothing to ship"
elif ! command -v dpkg-shlibdeps >/dev/null; then
    tap_skip "no dpkg-shlibdeps (dpkg-dev) to find the package's dependencies"
else
    (cd "$build" && cpack -G DEB -B "$scratch/deb") >"$scratch/log" 2>&1
    tap_ok $? "cpack makes a package" "$(cat "$scratch/log")"
    deb=$(echo "$scratch"/deb/gpush_*_"$arch".deb)
    tap_empty "$(undeclared "$(dpkg-deb -f "$deb" Depends)")" "it depends on the packages of what it links to"
    dpkg-deb -x "$deb" "$scratch/deb/tree"
    files_in "$scratch/deb/tree/usr" package
    runs_in "$scratch/deb/tree/usr" package
fi
tap_done
