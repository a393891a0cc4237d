#!/bin/bash
# The law of dependencies: shell > bindings > kernels > profile > tensor, and the few files that
# alone use Lua, CUDA, the line editor and OpenMP. Ends by breaking each rule in a scratch tree, to
# see it fail.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

# Prints the C of the tree below the current directory as "FILE:LINE: text", without comments and
# strings.
sources() {
    local files
    mapfile -t files < <(find tensor kernels profile bindings shell -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' -o -name '*.def' \) 2>/dev/null | LC_ALL=C sort)
    [ ${#files[@]} -eq 0 ] || awk -f "$root/tests/support/strip.awk" "${files[@]}"
}

# Prints the includes of our own headers that the law does not allow.
bad_includes() {
    awk -F: '
        BEGIN {
            may["tensor"] = "tensor"; may["profile"] = "profile tensor"; may["kernels"] = "kernels profile tensor"
            may["bindings"] = "bindings kernels profile tensor"; may["shell"] = "shell bindings kernels profile tensor"
        }
        $3 ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($3, part, "\"")
            from = $1; sub(/\/.*/, "", from)
            to = part[2]; if (to !~ /\//) next
            if (to ~ /\.\.\//) { print; next }
            sub(/\/.*/, "", to)
            if (index(" " may[from] " ", " " to " ") == 0) print
        }'
}

# only PATTERN PLACES: the lines that match the extended regular expression outside the places (a
# regex on the path).
only() { grep -E "^[^:]*:[0-9]*:.*($1)" | grep -Ev "^($2)[^:]*:"; }

inc='#[ \t]*include[ \t]*[<"]'
w='(^|[^A-Za-z0-9_])'
cuda_places='kernels/cuda/|profile/cuda/|kernels/nccl/'
nccl_header="$inc(nccl)"
cuda_headers="$inc(cuda|cudnn|cublas|cusolver|cusparse|cufft|curand|cupti|cub/|thrust/|nvtx|nvToolsExt|nvrtc|driver_types)"
blocking='cuda(Device|Stream|Event)Synchronize|cudaMemcpy(2D|3D|ToSymbol|FromSymbol)?|cudaMemset|cudaMalloc(Host|Managed)?'
blocking="$blocking|cudaFree(Host)?|cudaHostAlloc|cu(Ctx|Stream|Event)Synchronize|cuMemcpy[A-Za-z0-9]*[^c(]|cuMemFree"

parts='profile/(load|replay)/|tensor/(fuse|capture|dist)/|tensor/ops/(fuse|dist)\.|kernels/(cpu|cuda)/(fuse|dist)/'
parts="$parts|kernels/(mpi|nccl)/|bindings/api/(op/(fuse|capture)|device/dist|profile/(load|replay|whatif))\."
parts="$parts|kernels/common/simt/|shell/doctor(_cuda)?\.c|tensor/device/plugin_api\.h"
rules=(includes parts calls lua cuda nccl blocking exit editor openmp onednn handlers drain locks relative)
# Prints the objects that the build in the folder $1 makes by its own list: the folder may hold
# those of files that were moved or deleted since.
built_objects() { grep -o ' -o [^ ]*\.o' "$1/compile_commands.json" | sed "s|^ -o |$1/|"; }

# Prints the calls that the law does not allow, from the symbols that the objects of the build in
# the folder $1 define and use. The core's functions in the plug-in (plugin_imports.c) count as the
# core's.
bad_calls() {
    built_objects "$1" | grep -E '/(core|kernels_[a-z0-9]+|gpush|[a-z_]*gpush_cuda)\.dir/' | xargs -r nm -A -g 2>/dev/null | awk '
        BEGIN { n = split("tensor profile kernels bindings shell", room, " "); for (i = 1; i <= n; i++) level[room[i]] = i }
        {
            file = $1; sub(/:.*/, "", file); sub(/^.*\.dir\/(__\/)*/, "", file); sub(/\.o$/, "", file)
            r = file; sub(/\/.*/, "", r)
            if (!(r in level)) next
            if ($(NF - 1) == "U") use[$NF, ++k] = file
            else if ($(NF - 1) ~ /^[TDBRV]$/ && (!($NF in home) || level[r] < home[$NF])) {
                home[$NF] = file ~ /plugin_imports/ ? 1 : level[r]; at[$NF] = file
            }
        }
        END {
            for (u in use) {
                split(u, part, SUBSEP); file = use[u]; r = file; sub(/\/.*/, "", r)
                if (part[1] in home && home[part[1]] > level[r]) print file ": " part[1] " of " at[part[1]]
            }
        }' | sort -u
}

declare -A name=(
    [parts]="what a build may leave out (cmake/parts.cmake) is included by itself, doctor and the plug-in's table only"
    [includes]="includes point only down: shell, bindings, kernels, profile, tensor"
    [calls]="calls go only down, too"
    [lua]="lua.h is known in bindings/ and shell/ only"
    [cuda]="CUDA headers are known in kernels/cuda/, kernels/nccl/ and profile/cuda/ only"
    [nccl]="NCCL's header is known in kernels/nccl/ only"
    [blocking]="CUDA calls that block are made in kernels/cuda/runtime/device.c only"
    [exit]="nothing below the shell ends the program"
    [editor]="the line editor is known in shell/editor/{line,render,editrc}.c only"
    [openmp]="OpenMP regions are in kernels/cpu/runtime/parallel.c only"
    [onednn]="oneDNN is called in kernels/cpu/runtime/parallel.c only, which blocks signals"
    [handlers]="a signal's handler runs on a stack of its own (tensor/device/stream/thread.h)"
    [drain]="a device is drained from the one gate, tensor/device/device.c, only"
    [locks]="locks are taken by tensor/device/stream/thread.h only, but in the plug-in"
    [relative]="no header of ours is included without its folder from another one")

# check RULE: prints what breaks it in the tree below the current directory.
check() {
    case $1 in
        includes) sources | bad_includes ;;
        parts) sources | only "$inc(profile/(load|replay)|tensor/(fuse|capture|dist))/" "$parts" ;;
        calls) bad_calls "$objects" ;;
        lua) sources | only "$inc(lua|lauxlib|lualib)" 'bindings/|shell/' ;;
        cuda) sources | only "$cuda_headers" "$cuda_places" ;;
        nccl) sources | only "$nccl_header" 'kernels/nccl/' ;;
        blocking) sources | only "$w($blocking)[ \t]*\(" 'kernels/cuda/runtime/device\.c' ;;
        exit) sources | only "$w(exit|_exit|_Exit|quick_exit|abort|assert|__builtin_trap)[ \t]*\(" 'shell/' ;;
        editor) sources | only "$inc(histedit|editline|readline)" 'shell/editor/(line|render|editrc)\.c' ;;
        openmp) sources | only "${inc}omp\.h|(#[ \t]*pragma|_Pragma\()[ \t]*\"*[ \t]*omp[ \t]+(parallel|for|task|sections|single|barrier|critical|teams)" \
            'kernels/cpu/runtime/parallel\.c' ;;
        onednn) sources | only "${inc}(oneapi|dnnl)|dnnl_sgemm[ \t]*\(" 'kernels/cpu/runtime/parallel\.c|kernels/blas/' ;;
        handlers) sources | awk '/struct sigaction [a-z]+ = \{/ { at = $0; n = 3 }
            n > 0 && /SA_ONSTACK/ { n = 0 }
            n > 0 && --n == 0 { print at }
            END { if (n > 0) print at }'
            sources | grep -E "$w"'signal[ \t]*\([^,]*,[ \t]*[^S \t]' ;;
        drain) sources | only '(->|\.)(event_)?drain[ \t]*\(' 'tensor/device/device\.c' ;;
        locks) sources | only 'pthread_(mutex|rwlock|spin)_((try|timed|rd|wr)?lock|unlock)[ \t]*\(' \
            'tensor/device/stream/thread\.h|kernels/cuda/|profile/cuda/' ;;
        relative) sources | awk -F: '$3 ~ /^[ \t]*#[ \t]*include[ \t]*"[^\/]*"/ {
                split($3, part, "\""); dir = $1; sub(/\/[^\/]*$/, "", dir)
                if ((getline line < (dir "/" part[2])) < 0) print; else close(dir "/" part[2]) }' ;;
    esac
}

objects=${GPUSH_BUILD:-$root/build/default}
tap_ok "$(built_objects "$objects" | grep -q '/tensor/op\.c\.o$'; echo $?)" "there are objects to look into"
cd "$root" || exit 1
for rule in "${rules[@]}"; do
    tap_empty "$(check "$rule")" "${name[$rule]}"
done

# broken RULE FILE LINE: RULE must object to LINE in FILE, and no other rule to a line that only
# looks like it.
broken() {
    rm -rf "$TMPDIR/tree"
    mkdir -p "$TMPDIR/tree/$(dirname "$2")"
    printf '%s\n' "$3" >"$TMPDIR/tree/$2"
    [ -n "$(cd "$TMPDIR/tree" && check "$1")" ]
    tap_ok $? "rule $1 objects to $3 in $2"
}
allowed() {
    rm -rf "$TMPDIR/tree"
    mkdir -p "$TMPDIR/tree/$(dirname "$2")"
    printf '%s\n' "$3" >"$TMPDIR/tree/$2"
    tap_empty "$(cd "$TMPDIR/tree" && check "$1")" "rule $1 allows $3 in $2"
}
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
broken includes tensor/op.c '#include "profile/record/record.h"'
broken includes profile/sync/sync.c '#include "kernels/cpu/runtime/kernel.h"'
broken includes kernels/cpu/matmul/matmul.c '#include "bindings/bind.h"'
broken includes tensor/op.c '#include "../profile/record.h"'
allowed includes shell/main.c '#include "tensor/tensor.h"'
broken parts tensor/op.c '#include "tensor/capture/capture.h"'
broken parts profile/show/rows.c '#include "profile/replay/replay.h"'
allowed parts kernels/cpu/fuse/plan.c '#include "tensor/fuse/program.h"'
objects=$TMPDIR/objects
# object FILE CODE: the object of FILE with that code, in the build's list.
object() {
    local to=core.dir/$1.o
    mkdir -p "$objects/${to%/*}"
    echo "$2" | ${CC:-cc} -xc -c - -o "$objects/$to"
    echo "\"command\": \"cc -o $to -c $1\"" >>"$objects/compile_commands.json"
}
# calling FILE NAME: objects of FILE, which calls gp_NAME, and of tensor/a.c, kernels/b.c and
# shell/c.c, which define the functions of their names.
calling() {
    rm -rf "$objects"
    object "$1" "void gp_$2(void); void gp_caller(void) { gp_$2(); }"
    for f in tensor/a kernels/b shell/c; do object $f.c "void gp_${f##*/}(void) {}"; done
}
calling tensor/op.c b
tap_is "$(check calls)" "tensor/op.c: gp_b of kernels/b.c" "a call from tensor up into kernels is found"
sed -i '\|tensor/op|d' "$objects/compile_commands.json"
tap_empty "$(check calls)" "an object that the build no longer makes is not read"
calling bindings/bind.c c
tap_is "$(check calls)" "bindings/bind.c: gp_c of shell/c.c" "a call from bindings up into the shell is found"
calling shell/main.c b
tap_empty "$(check calls)" "a call from the shell down into kernels is allowed"
calling kernels/x.c a
tap_empty "$(check calls)" "a call from kernels down into tensor is allowed"
broken lua profile/show/table.c '#include <lua.h>'
broken lua tensor/op.c '#  include "lauxlib.h" /* why */'
allowed lua tensor/op.c '/* #include <lua.h> */'
broken cuda tensor/device/device.c '#include <cuda_runtime_api.h>'
allowed cuda kernels/cuda/sort/sort.cu '#include <cub/cub.cuh>'
broken nccl kernels/cuda/sort/sort.cu '#include <nccl.h>'
allowed nccl kernels/nccl/nccl.c '#include <nccl.h>'
broken blocking kernels/cuda/sort/sort.cu 'cudaStreamSynchronize(s);'
broken blocking profile/cuda/cupti.c '    return cudaMemcpy (a, b, n, kind);'
allowed blocking kernels/cuda/sort/sort.cu 'cudaMemcpyAsync(a, b, n, kind, s); cudaMallocAsync(&p, n, s); cudaFreeAsync(p, s);'
broken exit tensor/op.c '    if (!t) abort();'
broken exit kernels/cpu/index.c 'assert(i < n);'
broken exit bindings/bind.c 'exit(1);'
allowed exit tensor/op.c '_Static_assert(sizeof(int) == 4, "exit(1)"); at_exit(f); /* exit(1) */ s = "abort()";'
allowed exit shell/main.c 'exit(1);'
broken editor shell/repl.c '#include <histedit.h>'
broken openmp kernels/cpu/reduce/reduce.c '#pragma omp parallel for'
broken openmp tensor/op.c '#define PAR _Pragma("omp parallel for")'
broken openmp tensor/op.c '#include <omp.h>'
allowed openmp kernels/cpu/reduce/reduce.c '#pragma omp simd reduction(+ : s)'
broken onednn kernels/cpu/conv/conv.c '#include <oneapi/dnnl/dnnl.h>'
broken onednn kernels/cpu/conv/conv.c 'gp_blas->dnnl_sgemm(a);'
broken handlers shell/main.c 'struct sigaction sa = {.sa_handler = on_signal};'
broken handlers shell/main.c 'signal(SIGINT, on_signal);'
allowed handlers shell/main.c $'struct sigaction sa = {.sa_handler = h,\n.sa_flags = SA_ONSTACK}; signal(2, SIG_DFL);'
broken drain bindings/api/op/tensor.c 's->dev->vt->drain(s);'
broken locks tensor/memory/alloc.c 'pthread_mutex_lock(&al->lock);'
allowed locks kernels/cuda/runtime/queue.c 'pthread_mutex_unlock(&q->lock);'
broken relative bindings/api/op/tensor.c '#include "tensor.h"'
# What uses x87 after a register of MMX was written, as norms in OpenBLAS do, gets NaN.
tap_empty "$(objdump -d --no-show-raw-insn "$GPUSH_BUILD/gpush" | awk '/^[0-9a-f]+ <.*>:$/ { name = $2 } /%mm[0-7]/ { print name }' | sort -u)" \
    "the program uses no registers of MMX"
tap_done
