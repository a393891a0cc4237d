#!/bin/bash
# Where `cmake --install` and the Debian package put files, and that gpush runs there without the
# source tree.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
unset LUA_PATH LUA_CPATH
arch=$(dpkg --print-architecture 2>/dev/null)

# files_in PREFIX: every expected file is there.
files_in() {
    local f gone=
    for f in bin/gpush lib/lua/5.4/gpush.so share/man/man1/gpush.1 share/bash-completion/completions/gpush \
        share/zsh/site-functions/_gpush share/fish/vendor_completions.d/gpush.fish share/doc/gpush/copyright share/doc/gpush/reference.md share/gpush/library/gpush.lua share/gpush/luacheck-std.lua include/gpush/op.h \
        lib/pkgconfig/gpush.pc lib/cmake/gpush/gpush-config.cmake lib/cmake/gpush/gpush-config-version.cmake; do
        [ -s "$1/$f" ] || gone+=$f$'\n'
    done
    while read -r f; do
        [ -s "$1/share/gpush/$f" ] || gone+=$f$'\n'
    done < <(cd "$root/scripts" && find . -name '*.lua' -o -path '*/report/*' -type f)
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
    tap_is "$(cd / && LUA_CPATH="$1/lib/lua/5.4/?.so" stock -e 'local x = require "gpush".ones(20, 20) print(x:matmul(x):max():item())' 2>&1)" \
        "[own]20.0" "$2: stock lua5.4 loads the module"
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

# extends PREFIX: the library of the documents is built against the prefix alone, by pkg-config and by
# CMake, and adds its ops to the shell and to stock Lua; so does one in C++, whose kernels throw.
extends() {
    local in=$scratch/extend by cpath
    mkdir -p "$in/cmake" "$in/pc"
    awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$root/docs/embedding-and-extending.md" >"$in/distances.c"
    tap_empty "$(diff "$in/distances.c" "$root/tests/support/extension/distances.c")" "the document's library is the tests'"
    local flags
    flags=$(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --cflags gpush)
    # shellcheck disable=SC2086 # several flags
    cc -Wall -Wextra -Werror -shared -fPIC $flags -o "$in/pc/distances.so" "$in/distances.c" >"$scratch/log" 2>&1
    tap_ok $? "a library is built by pkg-config" "$(cat "$scratch/log")"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(distances LANGUAGES C)' 'find_package(gpush 0.5 REQUIRED)' \
        'gpush_add_library(distances ../distances.c)' >"$in/cmake/CMakeLists.txt"
    (cd "$in/cmake" && cmake -DCMAKE_PREFIX_PATH="$1" . && cmake --build .) >"$scratch/log" 2>&1
    tap_ok $? "and by CMake" "$(cat "$scratch/log")"
    for by in pc cmake; do
        cpath="$1/lib/lua/5.4/?.so;$in/$by/?.so"
        tap_is "$(cd / && LUA_CPATH="$in/$by/?.so" "$1/bin/gpush" -e 'require "distances" print(hypot3(ones(1) * 2, 3, 6):item())' 2>&1)" \
            "[own]7.0" "by $by: in the shell"
        tap_is "$(cd / && LUA_CPATH=$cpath stock -e 'local d = require "distances" print(d.cityblock(require "gpush".ones(2, 3), require "gpush".zeros(1, 3)):sum():item())' 2>&1)" \
            "[own]6.0" "by $by: in stock lua5.4"
    done
    cat >"$in/throws.cpp" <<'END'
#include <lua.hpp>
#include <stdexcept>
#include <gpush/op.h>
static int fails(const gpush_call *) { throw std::runtime_error("thrown"); }
static const gpush_op ops[] = {{"throws", "tensor x", "throws", nullptr, 0, 0, nullptr, gpush_catch<fails>, nullptr, nullptr, nullptr, nullptr}};
GPUSH_LIBRARY(throws, ops)
END
    command -v g++ >/dev/null || { tap_skip "no C++ compiler"; return; }
    # shellcheck disable=SC2086
    g++ -Wall -Wextra -Werror -shared -fPIC $flags -o "$in/pc/throws.so" "$in/throws.cpp" >"$scratch/log" 2>&1
    tap_ok $? "a library in C++" "$(cat "$scratch/log")"
    tap_is "$(cd / && LUA_CPATH="$in/pc/?.so" "$1/bin/gpush" -e 'require "throws" print(select(2, pcall(throws, ones(1))))' 2>&1)" \
        "[own](command line):1: throws: thrown" "an exception is an error"
}

# faults_of FILE...: what readelf finds missing in each.
faults_of() {
    local f dynamic headers
    for f in "$@"; do
        dynamic=$(readelf -dW "$f") headers=$(readelf -lW "$f")
        # An empty entry and a relative one mean folders under the working folder.
        sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p' <<<"$dynamic" | tr ':' '\n' |
            grep -v '^/' | sed "s|.*|$f: '&' in its run path|"
        [ -z "${GPUSH_SAN-}" ] || continue
        grep -q 'FLAGS_1.* NOW' <<<"$dynamic" || echo "$f: symbols are bound late (-z now)"
        grep -q GNU_RELRO <<<"$headers" || echo "$f: no RELRO"
        grep 'GNU_STACK.* RW  ' <<<"$headers" >/dev/null || echo "$f: an executable stack"
        readelf -h "$f" | grep -q 'Type: *DYN' || echo "$f: not position-independent"
        [[ $f != */libgpush_@(blas|kernel).so ]] || continue # tables, without code
        readelf -sW --dyn-syms "$f" | grep -q ' __stack_chk_fail' || echo "$f: no stack protector"
        grep -qE '^CMAKE_BUILD_TYPE:.*=Debug' "$build/CMakeCache.txt" ||
            readelf -sW --dyn-syms "$f" | grep -qE ' __(snprintf|memcpy|vsnprintf)_chk' ||
            echo "$f: no _FORTIFY_SOURCE"
    done
}

# unmarked MARK FILE...: those without the mark IBT or SHSTK, by which the loader and the linker know
# that a file can run with landing pads or with a shadow stack (CET).
unmarked() {
    local mark=$1 f
    shift
    for f in "$@"; do readelf -nW "$f" | grep -q "x86 feature:.*$mark" || echo "$f"; done
}

# branches FILE FUNCTION: begins the function with a landing pad for indirect branches.
branches() {
    local at
    at=$(readelf -sW "$1" | awk -v f="$2" '$8 == f { print "0x" $2; exit }')
    objdump -d --start-address="$at" --stop-address=$((at + 4)) "$1" | grep -q endbr64
}

# hardened FOLDER NAME FILE...: none has a fault, and no library of the working folder is loaded.
hardened() {
    local folder=$1 name=$2
    shift 2
    tap_empty "$(faults_of "$@")" "$name: run paths, RELRO, stack and buffers are protected"
    mkdir -p "$scratch/planted"
    tap_is "$(cd "$scratch/planted" && "$folder/gpush" -e 'local x = ones(30, 30) print(x:matmul(x):mean():item() // 1)' 2>&1)" 30.0 "$name: libraries in the working folder are not loaded"
}

# undeclared DEPENDS: the packages of the libraries that the program and its linear algebra need and
# that are missing from DEPENDS.
undeclared() {
    local lib path package own=("$build/gpush" "$build/lib/libgpush_blas.so")
    for lib in $(readelf -d "${own[@]}" | sed -n 's/.*(NEEDED).*\[\(lib.*\)\]/\1/p' | sort -u); do
        path=$(readlink -f "$(ldd "${own[@]}" | awk -v lib="$lib" '$1 == lib { print $3; exit }')")
        # dpkg knows some libraries by the path from before /usr was merged.
        package=$(dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}")
        package=${package%%:*}
        [[ $1 == *$package* ]] || echo "$package, for $lib, is not in $1"
    done
}

# A library of the program's that says so when it is loaded.
mkdir -p "$scratch/planted"
echo '#include <unistd.h>
__attribute__((constructor)) static void planted(void) { if (write(1, "planted", 7)) {} _exit(1); }' >"$scratch/planted.c"
for lib in libzip.so.4 libz.so.1 libedit.so.2 libopenblas.so.0 libgpush_cuda.so; do
    gcc -shared -fPIC -o "$scratch/planted/$lib" "$scratch/planted.c" || break
done
tap_ok $? "there are libraries of the same names"
hardened "$build" built "$build/gpush" "$build/lib/"*.so
if [ -n "${GPUSH_SAN-}" ] || [ "$(uname -m)" != x86_64 ]; then
    tap_skip "no control-flow protection in a sanitised build, or on this processor"
else
    branches "$build/lib/gpush.so" luaopen_gpush
    tap_ok $? "indirect branches are checked"
    tap_empty "$(unmarked SHSTK "$build/gpush" "$build/lib/"*.so)" "a shadow stack can be switched on"
    mapfile -t own < <(find "$build/CMakeFiles" -name '*.c.o')
    tap_empty "$(unmarked 'IBT, SHSTK' "${own[@]}")" "each of our ${#own[@]} objects of C has both marks"
    # landing pads: in files that the system's startup code and Lua allow to have the mark
    mapfile -t startup < <(for f in Scrt1.o crti.o crtn.o libc_nonshared.a; do gcc -print-file-name=$f; done)
    if [ -z "$(unmarked IBT "${startup[@]}" "$build/liblua.a")" ]; then
        tap_empty "$(unmarked IBT "$build/gpush" "$build/lib/"*.so)" "landing pads can be switched on"
    else
        tap_skip "the system's startup code or Lua has no landing pads"
    fi
fi

# The bill of materials, against the loader's and dpkg's own words.
materials() {
    local sbom=$scratch/sbom.json expected
    SOURCE_DATE_EPOCH=86400 "$build/gpush" -E "$root/scripts/dev/sbom.lua" "$1" >"$sbom" 2>"$scratch/log"
    tap_ok $? "the bill of materials is written" "$(cat "$scratch/log")"
    expected=$(find "$1" -path '*/bin/gpush' -o -name '*.so' | while read -r f; do
        ldd "$f" | grep -oE '/[^ ]+' | while read -r lib; do
            dpkg-query -S "$(readlink -f "$lib")" 2>/dev/null || dpkg-query -S "$(readlink -f "$lib" | sed 's|^/usr||')"
        done
    done | sed 's/:.*//' | sort -u | xargs dpkg-query -W -f='${Package} ${Version}\n')
    # the plug-in is linked with CUDA's static runtime
    [ -z "$(find "$1" -name libgpush_cuda.so)" ] ||
        expected+=$'\nNVIDIA CUDA runtime '$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    tap_is "$("$build/gpush" -E -e 'for _, p in ipairs(json.decode(io.read "a").packages) do print(p.name .. " " .. p.versionInfo) end' <"$sbom" |
        grep -v '^gpush \|^liblua5.4-dev ' | sort)" "$(sort <<<"$expected")" "it has the packages of all libraries"
    tap_is "$("$build/gpush" -E -e 'for _, f in ipairs(json.decode(io.read "a").files) do print(f.checksums[2].checksumValue .. "  " .. f.fileName) end' <"$sbom" |
        (cd "$1" && sha256sum -c --quiet 2>&1; find . -type f | wc -l))" "$(grep -o '"fileName"' "$sbom" | wc -l)" "and all files, with their sums"
    grep -q '"created":"1970-01-02T00:00:00Z"' "$sbom"
    tap_ok $? "its date can be fixed"
}

cmake --install "$build" --prefix "$scratch/usr" >"$scratch/log" 2>&1
tap_ok $? "cmake --install" "$(cat "$scratch/log")"
files_in "$scratch/usr" installed
mapfile -t elf < <(find "$scratch/usr" -path '*/bin/gpush' -o -name '*.so')
hardened "$scratch/usr/bin" installed "${elf[@]}"
if [ -z "${GPUSH_SAN-}" ]; then
    tap_is "$(grep -lF "$root/" "${elf[@]}")" "" "no program holds the name of the folder where it was built"
else
    tap_skip "a sanitizer's reports name the sources by their full paths"
fi
if [ -z "${GPUSH_SAN-}" ] && command -v dpkg-query >/dev/null; then
    materials "$scratch/usr"
else
    tap_skip "no packages to list, or a sanitised build"
fi
runs_in "$scratch/usr" installed
extends "$scratch/usr"
out=$(man --warnings=all -l "$scratch/usr/share/man/man1/gpush.1" 2>&1 >/dev/null) || out=
tap_empty "$out" "the man page has no warnings"
# One text: an op's help in the man page, the reference and, up to a semicolon, editors' declarations.
help=$("$build/gpush" -e 'io.write(ops(true).matmul.help)')
for f in man/man1/gpush.1 doc/gpush/reference.md gpush/library/gpush.lua; do
    case $f in *.lua) help="---${help%%;*}" ;; esac
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
