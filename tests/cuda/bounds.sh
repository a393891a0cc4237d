#!/bin/bash
# Kernels that are launched with up to 1024 threads per block declare it (__launch_bounds__): the
# compiler then limits a thread's registers, and without it the launch fails on a card. The stand-in
# does not show this.
cd "$GPUSH_ROOT/kernels/cuda" || exit 1

# Kernels that take a group's size and set no bounds.
groups() {
    grep -lE "= gp_group_threads|, gp_group_threads" -- */*.cu */*.cuh | xargs awk '
        FNR == 1 { held = "" }
        /__global__/ { held = /__launch_bounds__\(GP_GROUP_MAX\)/ ? "" : FILENAME ": " $0; line = FNR }
        held && FNR <= line + 1 && /int group/ { print held; held = "" }'
}
wide() { grep -nE "GP_LAUNCH\(.*(1024|GP_GROUP_MAX)" -- */*.cu; }

echo 1..3
n=$(grep -lE "= gp_group_threads|, gp_group_threads" -- */*.cu */*.cuh | wc -l)
if [ "$n" -ge 2 ]; then echo "ok 1 - there are files that launch groups"; else echo "not ok 1 - $n files launch groups"; fi
bad=$(groups)
if [ -z "$bad" ]; then echo "ok 2 - kernels of groups have bounds"; else echo "not ok 2 - kernels of groups have bounds"; echo "$bad" | sed 's/^/# /'; fi
bad=$(wide)
if [ -z "$bad" ]; then echo "ok 3 - nothing else is launched so wide"; else echo "not ok 3 - nothing else is launched so wide"; echo "$bad" | sed 's/^/# /'; fi
