#!/bin/bash
# An op has one family in every room: its shape rule and its gradient in tensor/ops/FAMILY.c, its
# kernels in kernels/cpu/FAMILY/ and kernels/cuda/FAMILY/. Checks the definitions in the objects.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"

# Prints "OP PART FILE" for every rule, gradient and kernel in the objects below the folder $1,
# except stale objects of deleted files.
parts() {
    find "$1" -name '*.o' | grep -E '\.dir/(__/)*(tensor|kernels)/' | xargs -r nm -A -g --defined-only 2>/dev/null | awk -v root="$root" '
        { file = $1; sub(/:.*/, "", file); sub(/^.*\.dir\/(__\/)*/, "", file); sub(/(\.cpp)?\.o$/, "", file) }
        !(file in is) { is[file] = (getline line < (root "/" file)) >= 0; close(root "/" file) }
        is[file] && match($NF, /^(infer|view|vjp|cpu|cuda)_/) {
            part = substr($NF, 1, RLENGTH - 1); op = substr($NF, RLENGTH + 1)
            if (part == "cpu" && !sub(/_base$/, "", op)) next
            print op, part, file
        }'
}

# The ops, in lines "OP PART FILE", whose parts are in several families. A rule for a kind of rows
# (tensor/infer.c, autograd/) belongs to none.
strangers() {
    awk '
        $3 !~ /^tensor\/ops\// && $3 !~ /^kernels\// { next }
        {
            f = $3; sub(/^(tensor\/ops|kernels\/cpu|kernels\/cuda)\//, "", f); sub(/(\/.*|(_grad)?\.c)$/, "", f)
            if (!index(" " all[$1], " " f " ")) all[$1] = all[$1] f " "
        }
        END { for (op in all) if (split(all[op], one, " ") > 1) print op ": " all[op] }' | LC_ALL=C sort
}

found=$(parts "$build")
for part in infer view vjp cpu cuda; do
    n=$(grep -c " $part " <<<"$found")
    tap_ok $((n > 10 ? 0 : 1)) "the objects define parts of kind $part"
done
tap_empty "$(strangers <<<"$found")" "an op's rule, gradient and kernels are of one family"
tap_is "$(printf '%s\n' 'var infer tensor/ops/reduce.c' 'var vjp tensor/ops/norm_grad.c' 'topk cpu kernels/cpu/sort/topk.c' \
    'topk infer tensor/ops/sort/sort.c' 'pad cuda kernels/cuda/conv/pad.cu' 'pad cpu kernels/cpu/layout/pad.c' | strangers)" \
    "$(printf '%s\n' 'pad: conv layout ' 'var: reduce norm ')" "an op of two families is found"
tap_done
