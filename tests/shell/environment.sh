#!/usr/bin/env bash
# Variables of the environment: units, and one sentence for a value that cannot be used.
. "$(dirname "$0")/../support/tap.sh"
cd "$TMPDIR" || exit 1
gpush=$GPUSH_BUILD/gpush

# sim SIZE BYTES
sim() { tap_is "$(GPUSH_SIM_MEMORY=$1 "$gpush" -e 'print(memory("sim").limit)' 2>&1)" "$2" "GPUSH_SIM_MEMORY=$1"; }
sim 64 67108864
sim 3GB 3000000000
sim '3 GB' 3000000000
sim 3gib 3221225472
sim 1.5MiB 1572864
sim 0.5TB 500000000000
sim '' "$("$gpush" -e 'print(memory("sim").limit)')"
tap_is "$(GPUSH_SIM_DEVICES=3 "$gpush" -e 'print(zeros(1, {device = "sim:2"}).device)')" sim:2 "GPUSH_SIM_DEVICES=3"
tap_is "$(OMP_NUM_THREADS=1,2 "$gpush" -e 'print "starts"' 2>&1)" starts "OMP_NUM_THREADS=1,2"

# refused VARIABLE VALUE EXPECTED: nothing runs; one line of gpush's own says what is expected.
refused() {
    local got
    got=$(env "$1=$2" "$gpush" -e 'print "runs"' 2>&1)
    tap_is "$? $(grep -v '^libgomp\|^$' <<<"$got")" "1 $gpush: $1=$2: expected $3" "$1=$2"
}
size="a size such as 3GB, 512MiB or 512M; a number alone is in MiB"
for value in abc 0 -3GB 3XB GB nan inf 1e40 '3 GB each'; do refused GPUSH_SIM_MEMORY "$value" "$size"; done
tap_is "$(GPUSH_SIM_MEMORY=180M "$gpush" -e 'print(memory("sim").limit)')" $((180 << 20)) "M is MiB, as elsewhere"
for value in two 0 9 1.5 2x; do refused GPUSH_SIM_DEVICES $value "an integer from 1 to 8"; done
for value in abc 0 4,x 99999999999999999999; do refused OMP_NUM_THREADS $value "integers of at least 1, as in 4 or 4,2"; done
refused COLUMNS wide "an integer of at least 0"
refused GPUSH_ISA avx2 "base, v3, v4 or bf16"
refused GPUSH_FUSE_COMPILE yes "0, 1 or wait"
refused GPUSH_GRAPHICS svg "kitty, sixel or blocks"
for name in OMPI_COMM_WORLD_SIZE PMI_SIZE MPI_LOCALNRANKS SLURM_STEP_NUM_TASKS; do
    refused $name many "an integer of at least 1"
done
for name in OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID; do refused $name -1 "an integer of at least 0"; done
tap_is "$(GPUSH_ISA=$'v9\e[31m' "$gpush" -e 1 2>&1 | tr -d -c $'\e' | wc -c)" 0 "a terminal is not sent what a value holds"

# ---- every variable that is read has its row ----

cd "$GPUSH_ROOT" || exit 1
rows=$(sed -n 's/^[A-Z]* *(\([A-Z0-9_]*\)[,)].*/\1/p' tensor/base/env.def | LC_ALL=C sort -u)
tap_empty "$(grep -rn 'getenv(' tensor kernels profile bindings shell --include=*.[ch] --include=*.cu |
    grep -v '^tensor/base/env.c:\|^kernels/cuda/\|^kernels/mpi/\|^profile/cuda/\|^shell/main.c:')" \
    "getenv is called in tensor/base/env.c, and in plug-ins, which cannot see it, and for LUA_INIT"
tap_empty "$(grep -rhoE 'getenv *\(?"[A-Z0-9_]+"' tensor kernels profile bindings shell scripts/lua |
    grep -oE '[A-Z0-9_]{2,}' | LC_ALL=C sort -u | LC_ALL=C comm -23 - <(printf '%s\n' "$rows" OMPI_COMM_WORLD_SIZE | LC_ALL=C sort))" \
    "what they read has a row in env.def, as has what the Lua files read"
tap_empty "$(for name in $(grep ^GPUSH <<<"$rows"); do grep -q "$name" scripts/man/gpush.1 || echo "$name"; done)" \
    "the man page has gpush's own"
tap_done
