#!/bin/bash
# No code asks which op a call runs: what sets a row of tensor/ops/table apart is a column, or a
# function that the row names.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

# Prints "FILE:LINE: text" for each comparison with an op, in C or CUDA below the folder $1.
questions() {
    (cd "$1" && find tensor kernels profile bindings shell -type f 2>/dev/null | grep -E '\.(c|h|cu|cuh|inc)$' |
        xargs -r grep -nE '[!=]= *(GP_OP\(|OP_[a-z])|case OP_[a-z]|(GP_OP\([a-z_0-9]*\)|OP_[a-z][a-z_0-9]*) *[!=]=|op->name *, *"')
}
tap_empty "$(questions "$root")" "no code asks which op it runs"

scratch=$(mktemp -d) || exit 1
mkdir -p "$scratch/kernels/cpu" "$scratch/tensor"
printf '%s\n' 'bool f(const gp_call *c) {' '    if (c->op == GP_OP(add)) return true;' \
    '    switch (id) {' '    case OP_mul: return GP_OP(sub) != op;' '    }' '}' >"$scratch/kernels/cpu/x.c"
printf '%s\n' 'return DO(add, "tt", a, b);' '[OP_add] = loops' >"$scratch/tensor/y.c"
tap_is "$(questions "$scratch" | cut -d: -f1,2 | tr '\n' ' ')" "kernels/cpu/x.c:2 kernels/cpu/x.c:4 " \
    "a comparison and a case are found, a use is not"
rm -rf "$scratch"
tap_done
