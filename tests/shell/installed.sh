#!/bin/bash
# gpush doctor on an installation: files that are gone are named, and what mends it is of its kind: a
# clone, a wheel, a tarball, `cmake --install`. And on a compiler that compiles nothing.
. "$GPUSH_ROOT/tests/support/tap.sh"
cd "$TMPDIR" || exit 1
here=$(pwd -P)
mkdir home && export HOME=$here/home
cmake --install "$GPUSH_BUILD" --prefix "$here/in" >log 2>&1
tap_ok $? "cmake --install" "$(cat log)"
in=$here/in share=$here/in/share/gpush
doctor() { PATH=${path-$PATH} "$in/bin/gpush" doctor 2>&1; } # path: where it finds programs
# line NAME: the doctor's line of that name, and what follows it
line() { doctor | grep -A1 "^..  $1  " | sed -E 's/^(..)  [^ ]+ +/\1 /; s/^ {17}/     /'; }

files=$(cd "$GPUSH_ROOT/scripts" && find lua labs python -name '*.lua' -o -path '*/report/*' -type f -o -name '*.py' | wc -l)
tap_is "$(line files | head -n 1)" "ok all $files in $share" "all files of a whole one"
doctor >/dev/null
tap_is $? 0 "which works"
mend="     cmake --install build/default --prefix $in, in the clone that it came from"
# gone NAME TEXT PATH...: without them
gone() {
    local f n=0
    for f in "${@:3}"; do n=$((n + $(find "$share/$f" -type f | wc -l))); done
    rm -rf kept && cp -r "$share" kept
    for f in "${@:3}"; do rm -r "${share:?}/$f"; done
    tap_is "$(line files)" "!! $n of $files in $share are missing, empty or not to be read: $2
$mend" "$1"
    rm -rf "$share" && mv kept "$share"
}
for folder in lua/command lua/nn/module lua/help python/gpush_record labs lua/report; do gone "without $folder" "$folder/" "$folder"; done
gone "without one file" labs/svd.lua labs/svd.lua
gone "without two of a folder" "labs/svd.lua, labs/text.lua" labs/svd.lua labs/text.lua
gone "without python" "python/, python/gpush_record/" python
mv "$share/python" kept
tap_is "$("$in/bin/gpush" record x.py 2>&1)" \
    "gpush record: cannot record: $share/python/sitecustomize.py is missing; gpush doctor says how to bring it back" "record says so, too"
mv kept "$share/python"
gone "without many" "labs/ddp.lua, labs/digits.lua, labs/grade.lua, labs/svd.lua, labs/text.lua, labs/verdict.lua, …" \
    labs/{ddp,digits,grade,svd,text,verdict}.lua lua/nearest.lua
: >"$share/labs/svd.lua"
tap_is "$(line files)" "!! 1 of $files in $share are missing, empty or not to be read: labs/svd.lua
$mend" "an empty one"
cp "$GPUSH_ROOT/scripts/labs/svd.lua" "$share/labs/"
mv "$share" kept
line files | grep -q "^!! $files of $files in $share are"
tap_ok $? "without any" "$(line files)"
tap_is "$(doctor | tail -n 1)" "$in/bin/gpush: cannot open $share/lua/init.lua: No such file or directory" "which ends there"
mv kept "$share"
mv "$in/lib/gpush/libgpush_blas.so" .
line BLAS | grep -qxF "$mend"
tap_ok $? "without the libraries of linear algebra" "$(line BLAS)"
mv libgpush_blas.so "$in/lib/gpush/"

# ---- a library that LD_LIBRARY_PATH brings is not mended by installing again ----
mkdir other
for lib in libstdc++.so.6 libdnnl.so.2; do
    ldd "$in/lib/gpush/libgpush_blas.so" | grep -qF "$lib" || { tap_skip "$lib is a part of this build"; continue; }
    [ "$lib$GPUSH_SAN" = "$lib" ] || { tap_skip "a sanitizer's program needs it to start"; continue; }
    echo cut >"other/$lib"
    got=$(LD_LIBRARY_PATH=/none:$here/other:/etc doctor | grep -A1 '^!!  BLAS')
    [[ $got == *"$here/other/$lib: file too short"$'\n'*"  LD_LIBRARY_PATH brings that file: take $here/other out of it" ]]
    tap_ok $? "a broken $lib" "$got"
    rm "other/$lib"
done

# ---- files of its own that cannot be written ----
mkdir file && : >file/.cache && : >file/.local
got=$(HOME=$here/file doctor | grep -A1 -E '^..  (fuse|history)' | sed 's/^..  [^ ]* *//; s/^ *//')
want="$here/file/.cache/gpush/fused: Not a directory
make that writable, or set XDG_CACHE_HOME to a folder that is"
case $got in compiles* | there* | left*) tap_skip "this build compiles no formulas" ;;
    *) tap_is "$(head -n 2 <<<"$got")" "$want" "no folder for compiled formulas" ;;
esac
tap_is "$(tail -n 2 <<<"$got")" "lasts for a session: $here/file/.local/state/gpush/history: Not a directory
make that writable, or set XDG_STATE_HOME to a folder that is" "no file for the history"

# ---- memory, of which a tenth is kept from tensors ----
if [ -e /sys/fs/cgroup/memory.max ] && ! grep -q max /sys/fs/cgroup/memory.max; then tap_skip "a container's limit"
else
    got=$(line memory | sed -n 's/.* GiB, of which tensors can have \(.*\) more$/\1/p')
    awk -v got="$got" '/^MemTotal/ { all = $2 } /^MemAvailable/ { left = $2 }
        END { d = got - (left - all / 10) / 1048576; exit !(got != "" && d < 2 && d > -2) }' /proc/meminfo
    tap_ok $? "memory that is available" "$(line memory) $(head -n 3 /proc/meminfo)"
fi

# ---- how it came here ----
rm -f "$in"/lib/gpush/libgpush_{cuda,cuda12,nccl,mpi}.so
# says NAME LINE TEXT: the line ends so
says() { grep -qxF -- "$3" <<<"$(line "$2")"; tap_ok $? "$1: $2" "$(line "$2")"; }
installed() { # NAME REINSTALL PLUG-IN
    rm "$share/labs/text.lua"
    says "$1" files "     $2"
    cp "$GPUSH_ROOT/scripts/labs/text.lua" "$share/labs/"
    says "$1" plug-in "     $3"
    tap_empty "$(doctor | grep -E '^ +(scripts/|cmake --preset)|tests/gpu|build gpush again')" "$1: nothing that only a clone has"
    [ -z "$dist" ] || doctor | grep -qE "^ +for dist, .* in a clone .*libgpush_mpi.so to $in/lib/gpush$"
    tap_ok $? "$1: how to have many processes" "$(line MPI)"
}
dist=$(line MPI)
made="scripts/gpush --cuda && cp build/default/lib/libgpush_cuda.so $in/lib/gpush/"
installed "cmake --install" "cmake --install build/default --prefix $in, in the clone that it came from" "in a clone of gpush: $made"
touch "$share/gpush.spdx.json"
installed "a tarball" "tar -C $in --strip-components=1 -xf gpush-*.tar.xz, the tarball that it came from" "in a clone of gpush: $made"
rm "$share/gpush.spdx.json"
version=$("$in/bin/gpush" -e 'print(gpush._VERSION)')
wheel_plugin="-m pip install gpush_cuda13-$version-*.whl, made in a clone of gpush: scripts/gpush --cuda && scripts/dev/wheel --cuda13 build/cuda/lib/libgpush_cuda.so"
mkdir -p "$in/lib/python3.11/site-packages/gpush-$version.dist-info"
installed "a wheel" "python3 -m pip install --force-reinstall gpush-$version-*.whl, the wheel that it came from" "python3 $wheel_plugin"
mv "$in" "$here/an [env]"
in="$here/an [env]" share="$here/an [env]/share/gpush"
printf '#!/bin/sh\n' >"$in/bin/python3" && chmod +x "$in/bin/python3"
line plug-in | grep -qF "     '$in'/bin/python3 $wheel_plugin"
tap_ok $? "a wheel in an environment: by its Python, whose path is a word of the shell's" "$(line plug-in)"
mv "$in" "$here/it's here"
in="$here/it's here" share=$in/share/gpush
rm -r "$in/lib/python3.11" "$share/labs/text.lua"
tap_is "$(line files | sed -n 's/^ *cmake --install build.default --prefix \(.*\), in the .*/printf %s \1/p' | sh)" "$in" "so is a prefix with a quote"
cp "$GPUSH_ROOT/scripts/labs/text.lua" "$share/labs/"
mv "$in" "$here/in"
in=$here/in

# ---- a clone: how the CUDA plug-in's build went ----
mkdir -p clone/build/{default,cuda} clone/scripts
cp "$GPUSH_BUILD/gpush" clone/build/default/ && cp "$GPUSH_ROOT/scripts/gpush" clone/scripts/ && : >clone/CMakeLists.txt
cp -r "$GPUSH_ROOT"/scripts/{lua,labs,python} clone/scripts/ && cp -r "$GPUSH_BUILD/lib" clone/build/default/
in_clone() { # STATUS LINES NAME
    echo "$1" >clone/build/cuda/status
    tap_is "$(clone/build/default/gpush doctor 2>&1 | grep -A1 '^..  build  ' | sed -E 's/^(..)  [^ ]+ +/\1 /; s/^ {17}/     /' | head -n "$(wc -l <<<"$2")")" "$2" "$3"
}
failed="the CUDA plug-in could not be built: its compilation failed (build/cuda/log)"
in_clone "$failed" "-- $failed
     scripts/gpush --cuda tries it again" "a build that failed"
in_clone "the CUDA plug-in is being built" "-- the CUDA plug-in is being built" "one that runs"
in_clone "the CUDA plug-in is built: the next gpush uses the card" "" "one that is done needs no line"
rm clone/scripts/lua/nearest.lua
tap_is "$(clone/build/default/gpush doctor 2>&1 | sed -n '/^!!  files/{n;s/^ *//;p}')" \
    "git -C $here/clone checkout -- scripts/lua/nearest.lua && cmake --build $here/clone/build/default --target ship" "a file that is gone from a clone"
rm -r clone/scripts/{labs,python/gpush_record}
clone/build/default/gpush doctor 2>&1 | grep -qxF "                 git -C $here/clone checkout -- scripts/labs/ scripts/lua/nearest.lua scripts/python/gpush_record/ && cmake --build $here/clone/build/default --target ship"
tap_ok $? "and several folders: other files keep their edits" "$(clone/build/default/gpush doctor 2>&1 | grep -A1 ' files ')"
mkdir cut && : >cut/libstdc++.so.6
got=$(LD_LIBRARY_PATH="cut" clone/build/default/gpush doctor 2>&1 | grep '^!!')
case $got in *cannot*) [[ $got != *string* ]]; tap_ok $? "an error has no place in the doctor's own text" "$got" ;; *) tap_skip "libstdc++ is a part of this build" ;; esac
rm -r clone

# ---- the compiler ----
mkdir bin
if grep -q '^CMAKE_C_COMPILER:[A-Z]*=.*clang' "$GPUSH_BUILD/CMakeCache.txt" || ! grep -q '^GPUSH_CAPTURE:BOOL=ON' "$GPUSH_BUILD/CMakeCache.txt"; then
    tap_skip "this build compiles no formulas"
else
    fuse() { # COMPILER LINE NAME
        printf '#!/bin/sh\n%s\n' "$1" >bin/gcc && chmod +x bin/gcc
        tap_is "$(path=$here/bin:$PATH line fuse | head -n 1)" "-- $here/bin/gcc: $2" "$3"
    }
    fuse 'echo "gcc: fatal error: cannot execute cc1" >&2; exit 1' "the C compiler failed: error: cannot execute cc1" "a compiler that fails"
    fuse 'exit 3' "the C compiler failed without a word, status 3" "without a word"
    fuse 'kill -9 $$' "the C compiler failed: signal 9 ended it" "killed"
    fuse : "the compiler wrote no object" "that writes nothing"
    mkdir nothing
    tap_is "$(path=$here/nothing line fuse | head -n 1)" "-- there is no gcc or cc in PATH" "none"
    tap_is "$(line fuse | head -c 4)|$(find home/.cache/gpush/fused -type f)" "ok /|" "one that works: nothing is left of the trial"
fi
tap_done
