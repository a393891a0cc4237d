# What scripts/gpush and scripts/test share: install what is missing, configure, build. Sourced by
# sh; needs $root. Says nothing on stdout, which belongs to the program; progress is printed on
# stderr and logged under build/.
# shellcheck shell=sh
unset CDPATH
root=$(cd -P "$root" && pwd)
build_tools="cmake ninja pkg-config gcc"
build_modules="lua5.4 libedit libutf8proc libpng jansson zlib libzip"

say() { printf 'gpush: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

package_of() {
    case $1 in
        ninja) echo ninja-build ;;
        lua5.4-dev) echo liblua5.4-dev ;;
        jansson) echo libjansson-dev ;;
        zlib) echo zlib1g-dev ;;
        prove) echo perl ;;
        luacheck) echo lua-check ;;
        pip3) echo python3-pip ;;
        lib*) echo "$1-dev" ;;
        *) echo "$1" ;;
    esac
}

# Whether there is a file $1 in one of the compiler's library directories. ($1 may contain a *.)
in_libdir() {
    for found in /usr/lib/*-linux-gnu*/$1 /usr/lib/$1; do
        [ -e "$found" ] && return 0
    done
    return 1
}

# Prints the packages that are missing; "test", "lint" or "fuzz" as $1 adds what scripts/test,
# scripts/dev/lint or scripts/dev/fuzz need. g++: for the stand-in for CUDA.
missing() {
    tools=$build_tools
    case ${1-} in
        test) tools="$tools g++ lua5.4 prove pip3 tmux" ;;
        fuzz) tools="$tools clang" ;;
        lint) tools="$tools g++ clang-format clang-tidy shellcheck luacheck" ;;
    esac
    for tool in $tools; do
        command -v "$tool" >/dev/null 2>&1 || package_of "$tool"
    done
    # gcc without the C library's headers compiles nothing.
    [ -e /usr/include/stdio.h ] || echo libc6-dev
    for module in $build_modules; do
        pkg-config --exists "$module" 2>/dev/null && continue
        [ "$module" = lua5.4 ] && module=lua5.4-dev
        package_of "$module"
    done
    [ "${1-}" != fuzz ] ||
        [ -e "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-x86_64.a" ] ||
        echo libclang-rt-dev
    # Optional: many processes. An MPI of another kind will do.
    if [ "${1-}" = test ] && ! command -v mpirun >/dev/null 2>&1; then
        echo libopenmpi-dev
        echo openmpi-bin
    fi
    in_libdir openblas-openmp/libopenblas.so || echo libopenblas-openmp-dev
    [ -e /usr/include/dnnl.h ] || echo libdnnl-dev
}

# Runs apt-get as root; its output goes to the log.
as_root_apt() {
    if [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
    fi >>"$root/build/setup.log" 2>&1
}

install_missing() {
    want=$(missing "${1-}" | tr '\n' ' ')
    want=${want% }
    [ -n "$want" ] || return 0
    command -v apt-get >/dev/null 2>&1 ||
        die "missing: $want (Debian's names). This system has no apt-get, so please install them" \
            "yourself and start again; Debian 12 is what gpush is tried on."
    byhand="apt-get update && apt-get install $want"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            die "missing: $want. Installing needs root, and there is no sudo. As root: $byhand"
        sudo -v || die "missing: $want. sudo did not let us in. As root: $byhand"
    fi
    say "installing $want"
    installed=1
    : >"$root/build/setup.log"
    # A failing update is harmless if the present lists suffice for the installation.
    as_root_apt update || say "apt-get update failed; trying with the package lists that are here"
    # shellcheck disable=SC2086
    if ! as_root_apt install -y --no-install-recommends $want; then
        tail -n 15 "$root/build/setup.log" >&2
        die "apt-get could not install what is missing (above, and build/setup.log). Is this" \
            "machine online, and are its package sources right? By hand, as root: $byhand"
    fi
    left=$(missing "${1-}" | tr '\n' ' ')
    [ -z "$left" ] || die "still missing after apt-get: $left(see build/setup.log)"
}

# Runs a step of the build; on a terminal its progress is shown, elsewhere only a failure.
step() {
    lines=${build_log:-$root/build/build.log}
    if [ -t 2 ]; then
        "$@" >&2
    elif ! "$@" >"$lines" 2>&1; then
        grep -E -A3 'error|Error|FAILED|warning:' "$lines" >&2 || tail -n 40 "$lines" >&2
        return 1
    fi
}

# Prints about how many minutes $1 seconds of one processor are on this machine's processors.
minutes() {
    n=$(((($1) / $(nproc) + 59) / 60))
    [ "$n" = 1 ] && echo "about a minute" || echo "about $n minutes"
}

# One build at a time in a tree: a second one waits.
lock() {
    mkdir -p "$root/build" 2>/dev/null && (: >>"$root/build/.lock") 2>/dev/null &&
        [ -w "$root/build" ] ||
        die "cannot write to $root/build; does it belong to another user?"
    exec 9>>"$root/build/.lock"
    flock -n 9 && return
    say "another build of this tree is running; waiting for it"
    flock 9
}
unlock() { exec 9>&-; }

# The level of x86-64 above v2 that this processor has.
own_level() {
    if grep -q -m 1 avx512vl /proc/cpuinfo 2>/dev/null; then echo v4
    elif grep -q -m 1 avx2 /proc/cpuinfo 2>/dev/null; then echo v3
    fi
}

# build PRESET TARGET...: configures where needed and builds. $levels: compiles kernels for these
# levels only, where none are compiled yet; for all where it is not set.
build() {
    preset=$1
    shift
    dir=$root/build/$preset
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null)
    [ -z "$home" ] || [ "$home" = "$root" ] || rm -rf "$dir" # the tree was moved or copied
    [ -z "${installed-}" ] || rm -f "$dir/CMakeCache.txt" # it remembers what was looked for in vain
    some=
    [ "$preset" != default ] || [ -n "${levels+set}" ] ||
        grep -q '^GPUSH_ISAS:[A-Z]*=v3;v4$' "$dir/CMakeCache.txt" 2>/dev/null || some=1
    if [ ! -e "$dir/build.ninja" ] || [ ! -e "$dir/CMakeCache.txt" ] || [ -n "$some" ]; then
        step cmake -S "$root" --preset "$preset" ${levels+-DGPUSH_ISAS="$levels"} ||
            die "configuring failed (build/build.log)"
    fi
    step cmake --build "$dir" --target "$@" || die "the build failed (build/build.log)"
}

# ---- the CUDA plug-in ----
# It has a build folder of its own, build/cuda, and is laid beside the program: where it cannot be
# built, the program still can. build/cuda/status has how that went, for the prompt.

# Prints the compute capabilities to compile for: $1, a list or "all" that the toolkit knows; else
# those of the cards that are here. There is PTX for others.
cuda_cards() {
    case ${1-} in
        all) nvcc --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p' ;;
        ?*) echo "$1" ;;
        *) nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
            tr -d '. ' | sort -u ;;
    esac | tr '\n' ';' | sed 's/;*$//'
}

# build_cuda [CARDS]: builds the plug-in, and says in build/cuda/status how it ended; false where it
# could not be built. A second one at the same time does nothing.
build_cuda() {
    dir=$root/build/cuda
    mkdir -p "$dir/lib" && exec 8>>"$dir/.lock" && flock -n 8 || return 0
    echo "the CUDA plug-in is being built" >"$dir/status"
    cards=${GPUSH_CUDA_CARDS-$(cuda_cards "${1-}")}
    build_log=$dir/log
    if ! step cmake -S "$root" --preset cuda -DGPUSH_CUDA_CARDS="$cards"; then
        why="CMake failed, see build/cuda/log"
    elif ! grep -q '^GPUSH_CUDA_BUILT:[A-Z]*=yes' "$dir/CMakeCache.txt"; then
        why="it needs nvcc, the compiler of CUDA 12.4 or newer (docs/gpu.md)"
    elif ! step cmake --build "$dir" --target plugins; then
        why="its compilation failed, see build/cuda/log"
    else
        why=
        mkdir -p "$root/build/default/lib"
        for f in "$dir"/lib/libgpush_*.so; do # whole or not at all, beside a program that may look
            to=$root/build/default/lib
            cp "$f" "$to/.new" && mv "$to/.new" "$to/${f##*/}" ||
                why="it could not be copied to build/default/lib"
        done
    fi
    unset build_log
    : >"$dir/.tried"
    if [ -z "$why" ]; then
        echo "the CUDA plug-in is built: the next gpush uses the card" >"$dir/status"
    else
        echo "the CUDA plug-in could not be built: $why" >"$dir/status"
    fi
    exec 8>&-
    [ -z "$why" ]
}
