#!/usr/bin/env bash
# gpush record: the recipe of docs/ci.md.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"
with_torch
export OMP_NUM_THREADS=1
recipe() { # LANGUAGE: the commands of the page's first block of it; nothing is to be installed or committed
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{ /^\`\`\`/d; s/^- run: //; /^pip /d; /^git /d; p }" "$root/docs/ci.md" | sed '/^gpush analyze/,$d'
}
mkdir -p recipe/tests bin
ln -s "$gpush" bin/gpush
cp model.py recipe
cat >recipe/train.py <<'E2'
from model import *
for i in range(int(sys.argv[2])): step()
E2
(cd recipe && PATH=$OLDPWD/bin:$PATH bash -e <(recipe sh)) >out 2>err
tap_is "$?|$(ls recipe/tests)" "0|base.json" "the recipe for CI writes a baseline"
check() { (cd recipe && PATH=$OLDPWD/bin:$PATH bash -e <(recipe yaml)) >out 2>err; }
check
tap_is "$?|$(grep -c '<failure' recipe/gate.xml)" "0|0" "and its job passes"
sed -i 's/: step()/: step(); print(x.sum().item())/' recipe/train.py
check
tap_is "$?|$(grep -c 'train.py:2: aten::item, 3 instead of 0' recipe/gate.xml)" "1|1" "until a line waits that did not"
rm recipe/tests/base.json
check
tap_is "$?|$(ls recipe/tests)" "1|" "and where the baseline is missing"
tap_done
