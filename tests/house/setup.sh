#!/bin/bash
# scripts/gpush in a scratch tree, with stand-ins for apt-get, sudo and cmake on the PATH: what it
# installs, prints, rebuilds and leaves alone. Other commands are the system's.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
bin=$scratch/bin
tree="$scratch/a tree"
log=$scratch/log
export log

mkdir -p "$bin" "$tree/scripts" "$tree/shell" "$tree/tensor"
cp "$root/scripts/gpush" "$root/scripts/lib.sh" "$root/scripts/system" "$tree/scripts/"
echo 'int main(void) {}' >"$tree/shell/main.c"
for tool in ls sh bash cat mkdir rm mv sed tr tail grep readlink flock touch sleep id env dirname chmod pwd uname df ninja make pkg-config gcc; do
    ln -s "$(command -v $tool || echo /bin/true)" "$bin/$tool"
done

# In place of the link, if there is one: a file that is written through it is the system's.
stand_in() { rm -f "$bin/$1" && cat >"$bin/$1" && chmod +x "$bin/$1"; }
systems_own() { type -P id gcc cmake apt-get sudo cp | xargs cat | cksum; }
before=$(systems_own)
# Makes a "program" that prints its arguments; logged.
cat >"$scratch/cmake" <<'X'
#!/bin/sh
echo "cmake $*" >>"$log"
case $* in
    *"--preset cuda"*)
        nvcc=$(sed -n 's/^NVCC=//p' build/cuda/CMakeCache.txt) # what it found first
        nvcc=${nvcc:-${CUDA_PATH-/usr}/bin/nvcc}
        ! grep -q 11.8 "$nvcc" || built="CUDA 11.8.89 in /usr/bin is too old: 12.4 or newer is needed"
        printf 'NVCC=%s\nGPUSH_CUDA_BUILT:INTERNAL=%s\n' "$nvcc" "${built-yes}" >build/cuda/CMakeCache.txt
        exit ;;
    *--preset*)
        mkdir -p build/default
        echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/default/CMakeCache.txt
        printf 'rule r\n command = true\n\ndefault all\n' >build/default/build.ninja
        exit ;;
    *"--build $PWD/build/cuda"*) : >build/cuda/lib/libgpush_cuda.so; exit ;;
    *"--target plugins"*)
        [ ! -e mpi ] || { mkdir -p build/default/lib && echo plugin >build/default/lib/libgpush_mpi.so; }
        [ ! -e no_mpi ]; exit ;;
    --build*)
        sleep 0.3
        [ ! -e broken ] || { echo "main.c:1: error: broken"; exit 1; }
        mkdir -p "$2"
        rm -f "$2/gpush"
        printf '#!/bin/sh\nprintf "<%%s>" "$@"\n' >"$2/gpush"
        chmod +x "$2/gpush" ;;
esac
X
chmod +x "$scratch/cmake"

# start ARGS...: runs the script; leaves out, err and status.
start() {
    : >"$log"
    out=$(cd "$tree" && PATH=$bin "$tree/scripts/gpush" "$@" 2>"$scratch/err")
    status=$?
    err=$(cat "$scratch/err")
}
says() { [[ $err == *"$1"* ]]; tap_ok $? "$2" "said: $err"; }
wants_others=$(PATH=$bin; cd "$tree" || exit; . scripts/lib.sh; missing | grep -v '^cmake$')
[ -z "$wants_others" ] || tap_skip_all "the build's own packages are not all here"

# Help is printed without a program, and with an old one by that.
program=$GPUSH_BUILD/gpush
cp "$root/shell/main.c" "$tree/shell/"
cp -r "$root/scripts/lua" "$tree/scripts/"
for words in --help -h "analyze --help" "compare -h" "profile --help" "record --help" "run --help" "sync --help"; do
    # shellcheck disable=SC2086 # two words
    start $words
    # shellcheck disable=SC2086
    tap_is "$status|$err|$(cat "$log")|$out" "0|||$("$program" $words)" "$words without a build"
done
tap_is "$(ls "$tree")" $'scripts\nshell\ntensor' "which leaves no folder"
rm -r "$tree/scripts/lua"
echo 'int main(void) {}' >"$tree/shell/main.c"

stand_in id <<<$'#!/bin/sh\necho 1000'
stand_in apt-get <<<$'#!/bin/sh\necho "apt-get $*" >>"$log"'
start
tap_is "$status" 1 "not root and no sudo: fails"
says "missing: cmake" "it names the package"
says "no sudo. As root: apt-get update && apt-get install cmake" "and the way out"
tap_is "$out$(cat "$log")" "" "nothing was run, stdout is empty"

stand_in sudo <<<$'#!/bin/sh\n[ "$1" = -v ] || { echo "sudo $1" >>"$log"; "$@"; }'
stand_in apt-get <<<$'#!/bin/sh\necho "apt-get $*" >>"$log"; echo "E: cannot reach the archive"; exit 100'
start
tap_is "$status" 1 "apt-get fails: so does the script"
says "E: cannot reach the archive" "it shows what apt-get said"
says "Is this machine online" "and what may be wrong"
grep -q '^sudo env' "$log"
tap_ok $? "apt-get is run through sudo"

# Without apt-get: what is missing by its own name, once, or by the packages of another manager.
mv "$bin/apt-get" "$scratch/apt-get"
start
says "missing: cmake. This system has none of apt-get, dnf, pacman, zypper and apk" "no manager of packages: says so"
tap_is "$status $(wc -l <<<"$err")" "1 1" "and fails, in one line"
manages() { # MANAGER CALL PACKAGES: the call that installs these, of Lua, Ninja and oneDNN, too
    mv "$bin/pkg-config" "$bin/ninja" "$bin/make" "$scratch"
    stand_in "$1" <<<$'#!/bin/sh\necho "'"$1"$' $*" >>"$log"; exit 1'
    start
    tap_is "$(sed -n "s/^$1 //p" "$log")" "$2 $3" "$1: its own names"
    says "By hand, as root: $4$3" "$1: and the command"
    rm "$bin/$1"
    mv "$scratch/pkg-config" "$scratch/ninja" "$scratch/make" "$bin"
}
manages dnf "install -y" "cmake ninja-build make pkgconf-pkg-config lua-devel libedit-devel utf8proc-devel libpng-devel jansson-devel zlib-devel libzip-devel openblas-devel" "dnf install "
manages pacman "-S --needed --noconfirm" "cmake ninja make pkgconf lua54 libedit libutf8proc libpng jansson zlib libzip openblas" "pacman -S --needed "
manages zypper "--non-interactive install" "cmake ninja make pkgconf-pkg-config lua54-devel libedit-devel utf8proc-devel libpng16-devel libjansson-devel zlib-devel libzip-devel libopenblas_openmp-devel" "zypper install "
manages apk "add" "cmake samurai make pkgconf lua5.4-dev libedit-dev utf8proc-dev libpng-dev jansson-dev zlib-dev libzip-dev openblas-dev" "apk add "
# pkg-config's own names for Lua, as other systems have them, and any OpenBLAS there.
stand_in pkg-config <<<$'#!/bin/sh\ncase $* in *lua54 | *openblas | *lib* | *jansson | *zlib) exit 0 ;; esac\nexit 1'
stand_in dnf </dev/null
wants=$(PATH=$bin; cd "$tree" || exit; . scripts/lib.sh; missing)
tap_is "$wants" cmake "Lua and OpenBLAS are found by pkg-config, whatever their names"
rm "$bin/dnf" "$bin/pkg-config"
ln -s "$(command -v pkg-config)" "$bin/pkg-config"

# Folders in which CMake, Ninja or a compiler would fail, in one sentence; and such as do no harm.
for c in ';' '#' '$' '`' '"' "'" '&' '(' ')' ',' '|' '<' '>' '[' ']' '\\' $'\n' $'\t'; do
    mkdir -p "$scratch/odd/x${c}y/scripts" && cp "$root/scripts/system" "$scratch/odd/x${c}y/scripts/"
    for shell in sh bash; do
        got=$($shell "$scratch/odd/x${c}y/scripts/system" 2>&1)
        tap_is "$?|${got%%:*}" "1|gpush cannot be built where a folder's name has any of ; # \$ \` \" ' & ( ) , | < > [ ] \\ or a control character" \
            "a folder with $(printf %q "$c"), by $shell"
    done
done
for c in ' ' ü % = + ~ @ : '{' '!' '^' '*' '?'; do
    mkdir -p "$scratch/odd/x${c}y/scripts" && cp "$root/scripts/system" "$scratch/odd/x${c}y/scripts/"
    tap_is "$(sh "$scratch/odd/x${c}y/scripts/system" 2>&1; echo $?)" 0 "a folder with '$c'"
done

# Other systems, in one sentence, from one file.
refused() { # what uname says, and what gpush does
    stand_in uname <<<$'#!/bin/sh\necho '"$1"
    start
    tap_is "$status|$err|$(cat "$log")" "1|gpush runs on Linux only, and this is $2|" "$1 is refused"
}
refused Darwin "macOS; a virtual machine or a container with Linux will do"
refused MINGW64_NT-10.0 "Windows; WSL2 will do"
refused FreeBSD FreeBSD
if cmake --version >/dev/null 2>&1; then
    out=$(PATH=$bin:$PATH cmake -S "$root" -B "$scratch/refused" 2>&1)
    tap_is "$? $(grep -c 'gpush runs on Linux only, and this is FreeBSD' <<<"$out")" "1 1" "by CMake, too"
fi
rm "$bin/uname"
ln -s "$(command -v uname)" "$bin/uname"

stand_in id <<<$'#!/bin/sh\necho 0'
stand_in apt-get <<<$'#!/bin/sh\necho "apt-get $*" >>"$log"; case $* in *install*) cp "'"$scratch"$'/cmake" "'"$bin"$'/cmake" ;; esac'
ln -s "$(command -v cp)" "$bin/cp"
start -e 'print(1)' "two words"
tap_is "$out" "<-e><print(1)><two words>" "installs, builds, starts, and passes its arguments on"
level=$(PATH=$bin:/usr/bin:/bin; . "$tree/scripts/lib.sh"; own_level)
tap_is "$(grep -o 'ISAS=.*' "$log")" "ISAS=$level -DGPUSH_QUICK_BASE=ON" "with kernels for this processor"
tap_is "$(grep -c '^apt-get.*install -y --no-install-recommends cmake$' "$log")" 1 "only what was missing is installed"
grep -q sudo "$log"
tap_is $? 1 "root needs no sudo"

start x
tap_is "$out|$err|$(cat "$log")" "<x>||" "built: starts at once, quietly, and runs nothing else"
sleep 0.01
touch "$tree/shell/main.c"
start x
tap_is "$out|$(grep -c -- '--target ship' "$log")|$(grep -c install "$log")" "<x>|1|0" "a newer source: built again"
tap_is "$(grep -c -- --preset "$log")" 0 "as it was configured"
sleep 0.01
touch "$tree/shell/main.c"
rm "$bin/cmake"
start x
tap_is "$out|$(grep -c -- --preset "$log")" "<x>|1" "something was installed: configured again, to find it"
sleep 0.01
echo 'int x;' >"$tree/tensor/new.c"
start x
tap_is "$(grep -c -- '--target ship' "$log")" 1 "a new file: built again"
sleep 0.01
rm "$tree/tensor/new.c"
start x
tap_is "$(grep -c -- '--target ship' "$log")" 1 "a file gone: built again"
start x
tap_is "$(cat "$log")" "" "and then not again"

sleep 0.01
touch "$tree/shell/main.c" "$tree/broken"
start --help
tap_is "$status|$out|$(cat "$log")" "0|<--help>|" "help comes from a program that is older than the sources"
start x
tap_is "$status|$out" "1|" "a build that fails: the old program is not started"
says "error: broken" "the compiler's message is shown"
stand_in df <<<$'#!/bin/sh\necho "Filesystem     1024-blocks      Used Available Capacity Mounted on"; echo "/dev/a b             100        90      3072      97% /"'
start x
says "gpush: the disk of $tree/build is full: 3 MiB are left" "where that is the reason, it says that the disk is full"
rm "$bin/df" "$tree/broken"
ln -s "$(command -v df)" "$bin/df"
start x
tap_is "$out" "<x>" "mended: starts"

ln -s "$tree/scripts/gpush" "$scratch/link"
out=$(cd / && PATH=$bin "$scratch/link" y)
tap_is "$out" "<y>" "through a symbolic link, from another directory"
out=$(cd "$tree/scripts" && PATH=$bin:. gpush z)
tap_is "$out" "<z>" "through the PATH"
out=$(cd "$tree/scripts" && PATH=$bin sh gpush z 2>&1)
tap_is "$out" "<z>" "by a shell, from its own folder"

sleep 0.01
touch "$tree/shell/main.c"
: >"$log"
(cd "$tree" && PATH=$bin scripts/gpush a >"$scratch/a" 2>/dev/null) &
(cd "$tree" && PATH=$bin scripts/gpush b >"$scratch/b" 2>/dev/null) &
wait
tap_is "$(cat "$scratch/a" "$scratch/b")|$(grep -c -- '--target ship' "$log")" "<a><b>|1" "from two shells at once: built once, both start"

# A plug-in that cannot be built stops nothing.
touch "$tree/shell/main.c" "$tree/no_mpi"
start x
tap_is "$status|$out" "0|<x>" "without the plug-in for many processes it starts"
says "many processes (MPI) could not be built" "and says so"
rm "$tree/no_mpi"
start x
tap_is "$status|$out|$(cat "$log")" "0|<x>|" "where none was built, none is missed"
sleep 0.01
touch "$tree/shell/main.c" "$tree/mpi"
start x
start x
tap_is "$out|$(cat "$log")" "<x>|" "with it, too, it starts at once"
rm "$tree/build/default/lib/libgpush_mpi.so"
start x
tap_is "$out|$(grep -c -- '--target plugins' "$log")|$(cat "$tree/build/default/lib/libgpush_mpi.so")" "<x>|1|plugin" "removed: built again"
rm "$tree/mpi" "$tree/build/default/lib/libgpush_mpi.so" "$tree/build/default/.built.plugin"

# The CUDA plug-in: beside the program where a driver is, or asked for.
for tool in setsid nice nproc cut sort; do ln -s "$(command -v $tool)" "$bin/$tool"; done
stand_in nvidia-smi <<<$'#!/bin/sh\nprintf "9.0\\n8.0\\n9.0\\n"'
built() { # waits for what runs beside
    for _ in {1..100}; do [ -e "$tree/build/cuda/.tried" ] && break; sleep 0.1; done
    tap_is "$(cat "$tree/build/cuda/status")" "$1" "$2"
}
start x
tap_is "$status|$out" "0|<x>" "a card's driver: the program starts"
says "building the CUDA plug-in meanwhile" "and it says that the plug-in is built"
built "the CUDA plug-in is built: the next gpush uses the card" "the status for the prompt"
tap_is "$(grep -o 'CARDS=.*' "$log")" "CARDS=80;90" "for the cards that are here"
tap_ok "$([ -e "$tree/build/default/lib/libgpush_cuda.so" ]; echo $?)" "it lies beside the program"
start x
tap_is "$out|$err|$(cat "$log")" "<x>||" "and is not built again"
rm "$tree/build/default/lib/libgpush_cuda.so" "$tree/build/cuda/.tried"
: >"$tree/build/cuda/.tried"
start x
says "building the CUDA plug-in meanwhile" "removed: built again"
for _ in {1..100}; do [ -e "$tree/build/default/lib/libgpush_cuda.so" ] && break; sleep 0.1; done
start --cuda=75,100 x
tap_is "$out|$(grep -o 'CARDS=.*' "$log")" "<x>|CARDS=75;100" "for other cards where asked"
mkdir -p "$scratch/toolkit/bin" "$scratch/old/bin" && echo 11.8 >"$scratch/old/bin/nvcc" && : >"$scratch/toolkit/bin/nvcc"
export CUDA_PATH=$scratch/old
start --cuda x
tap_is "$status|$out" "0|<x>" "without a toolkit the program starts"
failure="gpush: the CUDA plug-in could not be built: CUDA 11.8.89 in /usr/bin is too old: 12.4 or newer is needed (build/cuda/log); scripts/gpush --cuda tries it again"
tap_is "$err" "$failure" "and says why there is no plug-in"
start x
tap_is "$out|$err|$(cat "$log")" "<x>||" "said once, and not tried again with that toolkit"
rm -f "$tree/build/cuda/.told"
start x
tap_is "$out|$err|$(cat "$log")" "<x>|$failure|" "the next gpush says it where nobody did"
export CUDA_PATH=$scratch/toolkit
start x
says "building the CUDA plug-in meanwhile" "with another toolkit it is tried again"
for _ in {1..100}; do [ -s "$tree/build/cuda/.tried" ] || break; sleep 0.1; done
built "the CUDA plug-in is built: the next gpush uses the card" "and built"
start x
tap_is "$out|$err|$(cat "$log")" "<x>||" "which is the end of it"
unset CUDA_PATH
CUDA_PATH=$scratch/old start --cuda x
tap_is "$out|$err" "<x>|$failure" "and a toolkit that replaces one by which it was built is looked at, too"
# Another build of it at the same time.
(flock 8; touch "$scratch/held"; sleep 1) 8>>"$tree/build/cuda/.lock" &
until [ -e "$scratch/held" ]; do sleep 0.1; done
start --cuda x
tap_is "$out|$err" "<x>|gpush: another build of the CUDA plug-in is running (build/cuda/log); waiting for it" "--cuda says what it waits for"
wait
# A tree of another user, for whom nothing is built.
if [ "$(/usr/bin/id -u)" = 0 ] && [[ $scratch == "$TMPDIR"/* ]] && command -v runuser >/dev/null && runuser -u nobody -- test -x "$root/scripts/gpush"; then
    chmod 755 "$scratch" "$TMPDIR"
    rm "$tree/build/cuda/.tried"
    theirs() { (cd / && log=/dev/null PATH=$bin runuser -u nobody -- "$tree/scripts/gpush" "$@" 2>&1); }
    ln -sf "$(command -v runuser)" "$bin/runuser"
    tap_is "$(theirs x)" "<x>" "in another user's tree nothing is said to be built"
    tap_is "$(theirs --cuda x)" "gpush: the CUDA plug-in is not built: cannot write to $tree/build/cuda, which may belong to another user
<x>" "and --cuda says why not"
    sleep 0.01
    touch "$tree/shell/main.c"
    old="Starting what was built there, which is older than its sources
<x>"
    tap_is "$(theirs x)" "gpush: cannot write to $tree/build, which may belong to another user. $old" "an older program of theirs starts"
    mv "$tree/build/default/gpush" "$scratch"
    tap_is "$(theirs x)" "gpush: cannot write to $tree/build, which may belong to another user" "where there is none it says why"
    mv "$scratch/gpush" "$tree/build/default"
    # mounted MOUNT COMMAND...: what gpush prints in a tree so mounted
    mounted() { unshare -m sh -c 'mount '"$1"' "$1"; cd "$1"; shift; exec "$@" 2>&1' sh "$tree" "${@:2}"; }
    if unshare -m true 2>/dev/null; then
        tap_is "$(PATH=$bin:/usr/bin:/bin mounted "--bind -o ro \"\$1\"" scripts/gpush x)" "gpush: cannot write to $tree/build: Read-only file system. $old" \
            "and one that is mounted for reading alone"
        mkdir "$scratch/small"
        tap_is "$(tree=$scratch/small; PATH=$bin:/usr/bin:/bin mounted '-t tmpfs -o size=1m none' sh -c "cp -r '$scratch/a tree/'[!b]* . && ! cat /dev/zero 2>&- >f; scripts/gpush x")" \
            "gpush: the disk of $scratch/small/build is full: 0 MiB are left, and a build takes a few hundred" "a disk that is full at the first start"
    else
        for _ in 1 2; do tap_skip "mounts need more rights"; done
    fi
else
    for _ in {1..6}; do tap_skip "another user's tree: needs root and runuser"; done
fi
stand_in nvidia-smi <<<$'#!/bin/sh\necho "NVIDIA-SMI has failed because it could not communicate"\nexit 9'
tap_is "$(PATH=$bin:$PATH; cd "$tree" || exit; root=$tree; . scripts/lib.sh; cuda_cards)" "" "what nvidia-smi says of its failure is no card"
rm "$bin/nvidia-smi"

rm "$bin/flock"
start x
tap_is "$status|$out|$err" "0|<x>|gpush: there is no flock (util-linux) here: please start no second build of this tree" "without flock it is built, too"
ln -s "$(command -v flock)" "$bin"
start x
tap_is "$status|$out|$err" "0|<x>|" "and once"

sleep 0.01
mv "$tree" "$scratch/moved"
tree=$scratch/moved
start x
tap_is "$out|$(grep -c -- '--target ship' "$log")" "<x>|1" "a tree that was moved is built again"
tap_is "$(systems_own)" "$before" "the system's own programs are as they were"

# What was cut off: the program, or what CMake wrote, with which no build works.
: >"$tree/build/default/gpush"
start x
tap_is "$status|$out|$(grep -c -- '--target ship' "$log")" "0|<x>|1" "an empty program is built again"
for f in build.ninja CMakeCache.txt; do
    for size in 20 0 10; do # which then has zeros alone
        sleep 0.01
        touch "$tree/shell/main.c"
        truncate -s $size "$tree/build/default/$f"
        start x
        tap_is "$status|$out|$(grep -c -- '--preset' "$log")" "0|<x>|1" "a $f that is cut off at $size is written again"
    done
done
start x
tap_is "$out|$(cat "$log")" "<x>|" "once"

# What is wrong with its arguments, scripts/test says before it builds anything.
for words in "--preset fast" --preset tests/nosuch --nosuch; do
    # shellcheck disable=SC2086 # two words
    err=$("$root/scripts/test" $words 2>&1)
    tap_is "$?|${err%%:*}|$(wc -l <<<"$err")" "1|gpush|1" "scripts/test $words"
done

# Tests of parts that a build leaves out are left out with them.
mkdir "$scratch/build" && echo 'tests/dist/' >"$scratch/build/tests_left_out"
listed() { GPUSH_BUILD=$1 "$root/tests/all" | grep -c "^tests/$2/"; }
tap_is "$(listed "$scratch/build" dist) $(listed "$scratch/build" kernels)" "0 $(listed "$scratch" kernels)" \
    "tests/all leaves out what the build does, and nothing else"
[ "$(listed "$scratch" dist)" -gt 5 ]
tap_ok $? "and nothing where it leaves out nothing"
# Help of the tools for developers is the comment at their top, and starts nothing.
for tool in $(cd "$root" && grep -l '^\. "$root/scripts/lib.sh"' scripts/dev/* scripts/bench/* 2>/dev/null); do
    out=$(PATH=$bin "$(command -v bash)" "$root/$tool" --help 2>&1)
    tap_is "$?|${out%%$'\n'*}" "0|$(sed -n '2s/^# //p' "$root/$tool")" "$tool --help"
done
tap_done
