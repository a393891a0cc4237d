# What scripts/gpush and scripts/test share: install what is missing, configure, build. Sourced by
# sh; needs $root. Says nothing on stdout, which belongs to the program; progress is printed on
# stderr and logged under build/.
# shellcheck shell=sh
unset CDPATH
root=$(cd -P "$root" && pwd)
# make: without it GCC links the program on one processor.
build_tools="cmake ninja make pkg-config gcc"
build_modules="lua5.4 libedit libutf8proc libpng jansson zlib libzip openblas"

# The tools of scripts/dev and scripts/bench: --help prints the comment at their top.
case ${0##*/}:${1-} in
    gpush:* | test:*) ;;
    *:-h | *:--help)
        sed -n '/^# shellcheck/d;2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit
        ;;
esac

say() { printf 'gpush: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

sh "$root/scripts/system" || exit 1

# The tool that installs packages, as it is first found.
manager=
for tool in apt-get dnf pacman zypper apk; do
    command -v $tool >/dev/null 2>&1 && manager=$tool && break
done

# What is looked for, and its package by each manager; - where the first column is the name.
# Debian's were tried, the others' were not.
packages() {
    cat <<'END'
what         apt-get                dnf                pacman      zypper             apk
ninja        ninja-build            ninja-build        -           -                  samurai
pkg-config   -                      pkgconf-pkg-config pkgconf     pkgconf-pkg-config pkgconf
g++          -                      gcc-c++            gcc         gcc-c++            -
libc         libc6-dev              glibc-devel        glibc       glibc-devel        musl-dev
lua5.4       liblua5.4-dev          lua-devel          lua54       lua54-devel        lua5.4-dev
libedit      libedit-dev            libedit-devel      -           libedit-devel      libedit-dev
libutf8proc  libutf8proc-dev        utf8proc-devel     -           utf8proc-devel     utf8proc-dev
libpng       libpng-dev             libpng-devel       -           libpng16-devel     libpng-dev
jansson      libjansson-dev         jansson-devel      -           libjansson-devel   jansson-dev
zlib         zlib1g-dev             zlib-devel         -           zlib-devel         zlib-dev
libzip       libzip-dev             libzip-devel       -           libzip-devel       libzip-dev
openblas libopenblas-openmp-dev openblas-devel - libopenblas_openmp-devel openblas-dev
libzmq       libzmq3-dev            zeromq-devel       zeromq      zeromq-devel       zeromq-dev
dnnl         libdnnl-dev            onednn-devel       onednn      onednn-devel       onednn-dev
lua          lua5.4                 lua                lua54       lua54              lua5.4
prove        perl                   perl-Test-Harness  perl        perl               perl-utils
luacheck     lua-check              luacheck           -           luacheck           luacheck
clang-format - clang-tools-extra clang clang-tools clang-extra-tools
clang-tidy - clang-tools-extra clang clang-tools clang-extra-tools
shellcheck   -                      ShellCheck         -           ShellCheck         -
pip3         python3-pip            python3-pip        python-pip  python3-pip        py3-pip
libfuzzer    libclang-rt-dev        compiler-rt        compiler-rt clang-devel        compiler-rt
END
}

# The package of $1 here.
package_of() {
    packages | while read -r what apt dnf pacman zypper apk; do
        [ "$what" = "$1" ] || continue
        case $manager in
            apt-get) echo "$apt" ;;
            dnf) echo "$dnf" ;;
            pacman) echo "$pacman" ;;
            zypper) echo "$zypper" ;;
            apk) echo "$apk" ;;
        esac
    done | sed "s/^-\$/$1/"
}

# Whether pkg-config knows $1. Lua's file has another name on each system. Debian's alternatives may
# point to an OpenBLAS whose threads get in the way of ours: there it is the one with OpenMP.
has_module() {
    case $1 in
        lua5.4)
            for name in lua5.4 lua54 lua-5.4; do
                pkg-config --exists $name 2>/dev/null && return
            done
            pkg-config --exists 'lua >= 5.4' 'lua < 5.5' 2>/dev/null ;;
        openblas)
            [ "$manager" != apt-get ] && { pkg-config --exists openblas 2>/dev/null; return; }
            ls /usr/lib/*/openblas-openmp/libopenblas.so >/dev/null 2>&1 ;;
        *) pkg-config --exists "$1" 2>/dev/null ;;
    esac
}

# Whether the compiler finds the header $1.
has_header() { echo "#include <$1>" | gcc -E - >/dev/null 2>&1; }

# Prints what is missing, by the names of packages()'s first column; "test", "lint" or "fuzz" as $1
# adds what scripts/test, scripts/dev/lint or scripts/dev/fuzz need, "kernel" what
# gpush kernel needs. g++: for the stand-in for CUDA.
missing() {
    tools=$build_tools
    case ${1-} in
        test) tools="$tools g++ prove pip3 tmux" ;;
        fuzz) tools="$tools clang" ;;
        lint) tools="$tools g++ clang-format clang-tidy shellcheck luacheck" ;;
    esac
    for tool in $tools; do
        command -v "$tool" >/dev/null 2>&1 || echo "$tool"
    done
    [ "${1-}" != test ] || command -v lua5.4 >/dev/null 2>&1 || echo lua
    # gcc without the C library's headers compiles nothing.
    has_header stdio.h || echo libc
    for module in $build_modules; do has_module "$module" || echo "$module"; done
    [ "${1-}" != fuzz ] ||
        [ -e "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-x86_64.a" ] ||
        echo libfuzzer
    # Optional: notebooks.
    case ${1-} in test | kernel) has_header zmq.h || echo libzmq ;; esac
    # Optional: many processes. An MPI of another kind will do, and elsewhere it is not on the PATH.
    [ "${1-}" != test ] || [ "$manager" != apt-get ] || command -v mpirun >/dev/null 2>&1 ||
        echo libopenmpi-dev openmpi-bin
    has_header dnnl.h || echo dnnl
}

# Prints the command that installs the packages $1, of which the first part updates the lists of
# what there is.
install_command() {
    case $manager in
        apt-get) echo "apt-get update && apt-get install $1" ;;
        pacman) echo "pacman -S --needed $1" ;;
        apk) echo "apk add $1" ;;
        *) echo "$manager install $1" ;;
    esac
}

# Runs a command as root; its output goes to the log.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi >>"$root/build/setup.log" 2>&1
}

# Installs the packages that are given.
install_packages() {
    case $manager in
        apt-get)
            set -- DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y \
                --no-install-recommends "$@"
            # A failing update is harmless if the present lists suffice for the installation.
            as_root env apt-get -q -o DPkg::Lock::Timeout=300 update ||
                say "apt-get update failed; trying with the package lists that are here" ;;
        dnf) set -- dnf install -y "$@" ;;
        pacman) set -- pacman -S --needed --noconfirm "$@" ;;
        zypper) set -- zypper --non-interactive install "$@" ;;
        apk) set -- apk add "$@" ;;
    esac
    as_root env "$@"
}

install_missing() {
    lack=$(missing "${1-}" | tr '\n' ' ')
    lack=${lack% }
    [ -n "$lack" ] || return 0
    [ -n "$manager" ] ||
        die "missing: $lack. This system has none of apt-get, dnf, pacman, zypper and apk: please" \
            "install them, so that PATH and pkg-config have them, and start again"
    want=
    for name in $lack; do
        package=$(package_of "$name")
        want="$want ${package:-$name}"
    done
    want=${want# }
    byhand=$(install_command "$want")
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            die "missing: $want. Installing needs root, and there is no sudo. As root: $byhand"
        sudo -v || die "missing: $want. sudo did not let us in. As root: $byhand"
    fi
    say "installing $want"
    installed=1
    : >"$root/build/setup.log"
    # shellcheck disable=SC2086
    if ! install_packages $want; then
        tail -n 15 "$root/build/setup.log" >&2
        ! full_disk /usr || die "$why"
        die "$manager could not install what is missing (above, and build/setup.log). Is this" \
            "machine online, and are its package sources right? By hand, as root: $byhand"
    fi
    left=$(missing "${1-}" | tr '\n' ' ')
    [ -z "$left" ] || die "still missing after $manager: ${left% } (see build/setup.log)"
}

# Whether the disk of folder $1 has less than 50 MiB left; $why says so.
full_disk() {
    left=$(df -Pk "$1" 2>/dev/null | sed -n '2s/^.* \([0-9][0-9]*\)  *[0-9]*% .*/\1/p')
    [ "${left:-51200}" -lt 51200 ] || return 1
    why="the disk of $1 is full: $((left / 1024)) MiB are left, and a build takes a few hundred"
}

# Whether this user can write below folder $1, which is made, and to its .lock; else $why says
# why not.
writable() {
    why=$(LC_ALL=C && export LC_ALL && mkdir -p "$1" 2>&1 && touch "$1/.lock" 2>&1) &&
        [ -w "$1" ] && return
    ! full_disk "$root" || return 1
    why="cannot write to $1: ${why##*: }"
    case $why in
        *": Permission denied" | *": ") why="${why%:*}, which may belong to another user" ;;
    esac
    return 1
}

# Takes the lock on descriptor $1, waiting for it, of which $2 tells; without $2 it is false where
# another process has it.
take_lock() {
    command -v flock >/dev/null 2>&1 || {
        say "there is no flock (util-linux) here: please start no second build of this tree"
        return 0
    }
    flock -n "$1" && return
    [ -n "$2" ] || return 1
    say "$2; waiting for it"
    flock "$1"
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
    writable "$root/build" || die "$why"
    exec 9>>"$root/build/.lock"
    take_lock 9 "another build of this tree is running"
}
unlock() { exec 9>&-; }

# The level of x86-64 above v2 that this processor has.
own_level() {
    if grep -q -m 1 avx512vl /proc/cpuinfo 2>/dev/null; then echo v4
    elif grep -q -m 1 avx2 /proc/cpuinfo 2>/dev/null; then echo v3
    fi
}

# The levels to compile kernels for, as CMake takes them: those that run here, or with $levels=all
# those of any processor, as for what is brought to other machines.
wanted_levels() {
    case ${levels-}:$(own_level) in
        all:* | *:v4) echo "v3;v4" ;;
        *) own_level ;;
    esac
}

# Whether the build folder $1 has kernels for all of them; sets $isas, those that it has.
has_levels() {
    isas=$(sed -n 's/^GPUSH_ISAS:[A-Z]*=//p' "$1/CMakeCache.txt" 2>/dev/null)
    [ "$isas" = "v3;v4" ] || [ "$isas" = "$(wanted_levels)" ] || return 1
    ! grep -q '^GPUSH_QUICK_BASE:[A-Z]*=ON$' "$1/CMakeCache.txt" 2>/dev/null
}

# build PRESET TARGET...: configures where needed and builds. In the default preset kernels are
# compiled for $levels; with "own", where none are compiled yet, for this processor alone.
build() {
    preset=$1
    shift
    dir=$root/build/$preset
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null)
    [ -z "$home" ] || [ "$home" = "$root" ] || rm -rf "$dir" # the tree was moved or copied
    options=
    some=
    if [ "$preset" != default ]; then :
    elif has_levels "$dir"; then options="-DGPUSH_ISAS=$isas" # the preset would take all
    elif [ "${levels-}" = own ]; then options="-DGPUSH_ISAS=$(own_level) -DGPUSH_QUICK_BASE=ON"
    else some=1 options="-DGPUSH_ISAS=$(wanted_levels) -DGPUSH_QUICK_BASE=OFF"
    fi
    [ -z "${installed-}" ] || rm -f "$dir/CMakeCache.txt" # it remembers what was looked for in vain
    # What a full disk or the machine's end cut off is written again.
    [ -n "$home" ] || rm -f "$dir/CMakeCache.txt"
    last=$(tail -n 1 "$dir/build.ninja" 2>/dev/null | tr -d '\0')
    if [ "$last" != "default all" ] || [ ! -e "$dir/CMakeCache.txt" ] || [ -n "$some" ]; then
        # shellcheck disable=SC2086 # two options
        step cmake -S "$root" --preset "$preset" $options ||
            build_failed "configuring failed (build/build.log)"
    fi
    step cmake --build "$dir" --target "$@" || build_failed "the build failed (build/build.log)"
}
build_failed() {
    full_disk "$root/build" || why=$1
    die "$why"
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
            tr -d '. ' | grep -x '[0-9][0-9]*' | sort -u ;; # not its errors, which it prints, too
    esac | tr '\n' ';' | sed 's/;*$//'
}

# What a build of the plug-in depends on beside the sources and the cards: compilers, with dates.
toolkit() {
    for tool in "$(command -v nvcc)" "${CUDA_PATH-}/bin/nvcc" /usr/local/cuda/bin/nvcc \
        "$(command -v g++)"; do
        [ ! -e "$tool" ] || ls -lL "$tool"
    done
    echo "cudnn.h in ${CUDNN_HOME-}, nccl.h in ${NCCL_HOME-}"
}

# build_cuda [CARDS]: builds the plug-in, and says in build/cuda/status how it ended; false where it
# could not be built, and then build/cuda/.tried has with what. A second one at the same time waits;
# with $beside set it does nothing.
build_cuda() {
    dir=$root/build/cuda
    if ! writable "$dir"; then
        say "the CUDA plug-in is not built: $why"
        return 1
    fi
    mkdir -p "$dir/lib"
    exec 8>>"$dir/.lock"
    other="another build of the CUDA plug-in is running (build/cuda/log)"
    [ -z "${beside-}" ] || other=
    take_lock 8 "$other" || return 0
    rm -f "$dir/.told"
    with=$(toolkit) # CMake remembers the one that it found first
    [ "$with" = "$(cat "$dir/.toolkit" 2>/dev/null)" ] ||
        rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
    echo "$with" >"$dir/.toolkit"
    echo "the CUDA plug-in is being built" >"$dir/status"
    cards=${GPUSH_CUDA_CARDS-$(cuda_cards "${1-}")}
    build_log=$dir/log
    if ! step cmake -S "$root" --preset cuda -DGPUSH_CUDA_CARDS="$cards"; then
        full_disk "$dir" || why="CMake failed"
    elif why=$(sed -n 's/^GPUSH_CUDA_BUILT:[A-Z]*=//p' "$dir/CMakeCache.txt") &&
        [ "$why" != yes ]; then
        why=${why:-"CMake does not say why"}
    elif ! step cmake --build "$dir" --target plugins; then
        full_disk "$dir" || why="its compilation failed"
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
    if [ -z "$why" ]; then
        echo "the CUDA plug-in is built: the next gpush uses the card" >"$dir/status"
    else
        echo "the CUDA plug-in could not be built: $why (build/cuda/log)" >"$dir/status"
    fi
    { [ -z "$why" ] || toolkit; } >"$dir/.tried"
    exec 8>&-
    [ -z "$why" ]
}
