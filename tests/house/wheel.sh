#!/bin/bash
# How a wheel is packed, and the wheels of the CUDA plug-ins: with the stand-in for CUDA. The wheel
# itself, which takes root and half an hour, is made and tried by scripts/dev/wheel.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
command -v python3 >/dev/null || tap_skip_all "no python3"
cd "$scratch" || exit 1
contains() { [[ $1 == *"$2"* ]]; tap_ok $? "$3" "$1"; }

# ---- A wheel of two files ----
mkdir -p tree/bin tree/share/demo out
printf '#!/bin/sh\necho demo\n' >tree/bin/demo
chmod 755 tree/bin/demo
echo text >tree/share/demo/text
printf 'Metadata-Version: 2.4\nName: a-demo\nVersion: 1.5\n\nLong.\n' >METADATA
pack() {
    SOURCE_DATE_EPOCH=1700000000 python3 "$root/scripts/dev/wheels/pack.py" "$1" METADATA \
        py3-none-any tree METADATA=licenses/other
}
wheel=$(pack out)
tap_is "$wheel" out/a_demo-1.5-py3-none-any.whl "its name is the metadata's"
tap_is "$(python3 -m zipfile -l "$wheel" | awk 'NR > 1 { print $1 }')" \
    "a_demo-1.5.data/scripts/demo
a_demo-1.5.data/data/share/demo/text
a_demo-1.5.dist-info/licenses/other
a_demo-1.5.dist-info/METADATA
a_demo-1.5.dist-info/WHEEL
a_demo-1.5.dist-info/RECORD" "programs are scripts, the rest is data"
python3 - "$wheel" >record <<'END'
import base64, csv, hashlib, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
rows = list(csv.reader(z.read("a_demo-1.5.dist-info/RECORD").decode().splitlines()))
assert sorted(r[0] for r in rows) == sorted(z.namelist())
for name, digest, size in rows[:-1]:
    data = z.read(name)
    assert int(size) == len(data)
    sum = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    assert digest == "sha256=" + sum
print(oct(z.getinfo("a_demo-1.5.data/scripts/demo").external_attr >> 16))
END
tap_is "$(cat record)" 0o100755 "RECORD has every file with its sum; a program stays executable"
mkdir again
pack again >/dev/null
cmp "$wheel" again/*.whl
tap_ok $? "the same bytes the second time"
pip() { python3 -m pip --disable-pip-version-check "$@"; }
if pip --version >/dev/null 2>&1; then
    pip install -q --no-index --no-deps --ignore-installed --root-user-action=ignore \
        --prefix "$scratch/here" "$wheel" >log 2>&1
    tap_ok $? "pip installs it" "$(cat log)"
    tap_is "$(find here -path '*bin/demo' -exec {} \;)" demo "the program is there"
    tap_is "$(find here -path '*share/demo/text' -exec cat {} \;)" text "so is the data"
else
    tap_skip "no pip"
fi

# ---- The plug-ins for CUDA ----
plugin=$build/fake/libgpush_cuda.so
refused() { # NAME WANT ARGUMENT...
    local name=$1 want=$2 out
    shift 2
    out=$("$root/scripts/dev/wheel" "$@" 2>&1)
    tap_ok $((! $?)) "$name is refused"
    tap_is "$out" "gpush: $want" "$name: in one sentence"
}
refused "no plug-in" "--cuda13 wants the plug-in that was built, libgpush_cuda.so (got '')" --cuda13
refused "a text" "METADATA is no library for x86-64" --cuda12 METADATA
other=$build/lib/libgpush_blas.so
refused "another library" "$other is no plug-in of gpush: it has no gp_cuda_open" --cuda13 "$other"
if [ ! -e "$plugin" ]; then
    tap_skip "the stand-in for CUDA was not built"
    tap_done
fi
version=$("$build/gpush" -v | sed -n 's/^gpush \([0-9.]*\).*/\1/p')
for cuda in 12 13; do
    "$root/scripts/dev/wheel" --cuda$cuda "$plugin" >log 2>&1
    tap_ok $? "a wheel for CUDA $cuda" "$(cat log)"
    wheel=$(grep -o '/.*\.whl' log)
    name=libgpush_cuda.so
    [ $cuda = 13 ] || name=libgpush_cuda12.so
    listed=$(python3 -m zipfile -l "$wheel")
    contains "$listed" "gpush_cuda$cuda-$version.data/data/lib/gpush/$name" \
        "CUDA $cuda: it lies where gpush looks"
    metadata=$(python3 -c 'import sys, zipfile
print(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())' "$wheel" \
        "gpush_cuda$cuda-$version.dist-info/METADATA")
    contains "$metadata" "Requires-Dist: gpush==$version" "CUDA $cuda: it needs this gpush"
    contains "$metadata" "Requires-Dist: nvidia-cudnn-cu$cuda~=9.0" \
        "CUDA $cuda: and NVIDIA's libraries"
    rm "$wheel"
done
tap_done
