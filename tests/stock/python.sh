#!/bin/bash
# gpush in a Python process, by lupa: the program of docs/embedding-and-extending.md, and tensors of
# NumPy and PyTorch there and back. Needs GPUSH_BENCH_PYTHON with torch, numpy and lupa.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
python=${GPUSH_BENCH_PYTHON:-python3}
[ -z "${GPUSH_SAN-}" ] || tap_skip_all "Python is not sanitized"
[ -e "$build/lib/gpush.so" ] || tap_skip_all "the module was not built"
"$python" -c 'import lupa.lua54, numpy, torch' 2>/dev/null ||
    tap_skip_all "no lupa, numpy and torch in $python"
export LUA_CPATH="$build/lib/?.so" GPUSH_PYTHON=$root/scripts/python PYTHONDONTWRITEBYTECODE=1
cd "$HOME" || exit 1

page=$root/docs/embedding-and-extending.md
sed -n '/^```python$/,/^```$/p' "$page" | sed '1d;$d' >page.py
sed -n '/^```python$/,$p' "$page" | awk '/^```/ { n++; next } n == 3 { print } n > 3 { exit }' >want
tap_ok $((! $(wc -l <page.py) || ! $(wc -l <want))) "the page has a program and what it prints"
tap_is "$("$python" page.py 2>&1)" "$(cat want)" "which it does"

cat >checks.py <<'END'
import ctypes, gc, os, sys, threading
import lupa, numpy as np, torch
sys.path.append(os.environ["GPUSH_PYTHON"])
import gpush_dlpack as d
with lupa.allow_lua_module_loading():
    from lupa import lua54
lua = lua54.LuaRuntime(unpack_returned_tuples=True)
gpush, _ = lua.require("gpush")
in_use = lua.execute("""local memory = require 'gpush'.memory
    return function() collectgarbage() collectgarbage() return memory('cpu').in_use end""")
collect = lua.execute("return function() collectgarbage() collectgarbage() end")

def check(ok, name):
    print(name if ok else "not " + name)

def raises(name, part, fn, *args):
    try:
        fn(*args)
        print("not", name, ": nothing was raised")
    except Exception as e:
        check(part in str(e), name)

dtypes = "bool uint8 int8 int16 int32 int64 float16 float32 float64"
names = dict(zip(dtypes.split(), "bool u8 i8 i16 i32 i64 f16 f32 f64".split()))
good = True
for name in names:
    a = np.array([[1, 0, 3], [4, 5, 0]]).astype(name)
    x = d.to_gpush(gpush, a)
    b = np.from_dlpack(d.Tensor(x))
    good = good and x.dtype == names[name] and b.dtype == a.dtype and (a == b).all()
    good = good and b.ctypes.data == a.ctypes.data
check(good, "NumPy's dtypes, in place")
a = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
b = torch.from_dlpack(d.Tensor(d.to_gpush(gpush, a)))
check(b.dtype == a.dtype and b.data_ptr() == a.data_ptr(), "PyTorch's bf16")
a = np.arange(24.0).reshape(4, 6)
good = True
for v in a.T, a[1:3, ::2], a[2], a[3, 5:6], np.broadcast_to(a[0], (3, 6)), np.zeros((0, 3)), np.array(7.0):
    w = np.from_dlpack(d.Tensor(d.to_gpush(gpush, v)))
    good = good and w.shape == v.shape and (w == v).all()
check(good, "views, empty ones, scalars")
check(str(d.to_gpush(gpush, np.array(7.0))) == "tensor(7.0, f64 scalar cpu)", "a scalar's text")

t = torch.ones(4)
d.to_gpush(gpush, t).add_(d.to_gpush(gpush, t), 1)
check(t.tolist() == [2.0] * 4, "gpush writes PyTorch's memory")
x = gpush.zeros(4)
u = torch.from_dlpack(d.Tensor(x))
u += 5
check(str(x) == "tensor({5.0, 5.0, 5.0, 5.0}, f32 4 cpu)", "and PyTorch gpush's")
check(torch.utils.dlpack.from_dlpack(d.Tensor(x).__dlpack__()).tolist() == [5.0] * 4,
      "a capsule of the older form")
held = d.Tensor(x).__dlpack__()
again = np.from_dlpack(d.Tensor(x))
check(torch.utils.dlpack.from_dlpack(held).tolist() == [5.0] * 4, "a capsule that is kept for a while")
check(np.from_dlpack(d.Tensor(x), copy=True).ctypes.data != u.data_ptr(), "a copy")

# Who is first.
x = u = again = held = None
base = in_use()
x = gpush.zeros(1 << 20)
u = torch.from_dlpack(d.Tensor(x))
del x
check(in_use() - base == 4 << 20, "the tensor is gone, its memory is not")
u.fill_(3)
del u
check(in_use() == base, "until PyTorch's is")
freed = []
class Owner(np.ndarray):
    def __del__(self):
        freed.append(1)
a = np.arange(8.0).view(Owner)
x = d.to_gpush(gpush, a)
del a
gc.collect(), collect()
check(not freed and str(x.sum(x)) == "tensor(28.0, f64 scalar cpu)", "NumPy's array lives in gpush's tensor")
del x
collect()
gc.collect()
check(freed == [1], "and is freed after it, once")
u = None
x = gpush.zeros(1 << 20)
u = [torch.from_dlpack(d.Tensor(x))]
thread = threading.Thread(target=u.clear)
del x
thread.start(), thread.join()
check(in_use() == base, "on another thread")

# What is refused is freed, too.
half = lua.table(dtype="bf16")
raises("NumPy has no bf16", "nsupported", lambda: np.from_dlpack(d.Tensor(gpush.zeros(1 << 20, half))))
d._sweep()
check(in_use() == base, "and holds nothing")
raises("a negative stride", "stride of dim 1 is -1", d.to_gpush, gpush, np.arange(3)[::-1])
raises("a complex number", "complex128", d.to_gpush, gpush, np.zeros(2, dtype=complex))
raises("u16", "uint16", d.to_gpush, gpush, np.zeros(2, dtype="uint16"))
raises("gradients of PyTorch's", "grad", d.to_gpush, gpush, torch.ones(2, requires_grad=True))
leaf = gpush.ones(2).requires_grad_(gpush.ones(2))
raises("gradients of gpush's", "requires a gradient", lambda: np.from_dlpack(d.Tensor(leaf)))
a = np.arange(3.0)
a.flags.writeable = False
x = d.to_gpush(gpush, a)
x.add_(x, 1)
check(a.tolist() == [0.0, 1.0, 2.0], "memory that may only be read is copied")
raises("unless that is ruled out", "may only be read", d.to_gpush, gpush, a, False)
raises("a device that it is not on", "copy it there", lambda: d.Tensor(x).__dlpack__(dl_device=(2, 0)))
END
while read -r line; do
    [[ $line != not\ * ]]
    tap_ok $? "$line" "$line"
done < <("$python" checks.py 2>&1)
tap_is "$tap_count" 26 "all of them ran"
tap_done
