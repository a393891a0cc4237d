#!/usr/bin/env bash
# Databases of Nsight Systems: what gpush analyze says of some that are made here by the documented
# schema, beside the sums that SQLite gives of the same rows, and of damaged ones.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
gpush=${GPUSH_BUILD:-$root/build/default}/gpush
. "$root/tests/support/tap.sh"
cd "$HOME" || exit 1
python3 -c 'import sqlite3' 2>/dev/null || tap_skip_all "there is no python3 with sqlite3"
make() { python3 "$root/tests/support/nsys.py" "$@"; }
make one.sqlite
"$gpush" analyze --json one.sqlite >one.json 2>err || { grep -q "SQLite's library is needed" err && tap_skip_all "there is no library of SQLite"; }

# field EXPRESSION: of the answer a
field() { python3 -c 'import json, sys; a = json.load(open("one.json")); print(eval(sys.argv[1]))' "$1"; }
sum() { python3 -c 'import sqlite3, sys; print(sqlite3.connect("one.sqlite").execute(sys.argv[1]).fetchone()[0])' "$1"; }
tap_is "$(field 'a["kind"], a["wall_ns"]')" "('measured', 2900000)" "its time, to the end of the last range"
tap_is "$(field 'a["devices"][0]["kernel_ns"]')" "$(sum 'select sum(end - start) from CUPTI_ACTIVITY_KIND_KERNEL')" "kernels' time"
tap_is "$(field 'a["devices"][0]["copy_ns"]')" "$(sum 'select sum(end - start) from CUPTI_ACTIVITY_KIND_MEMCPY')" "copies' time"
tap_is "$(field 'a["waits"]["waited_ns"]')" "$(sum 'select sum(end - start) from CUPTI_ACTIVITY_KIND_RUNTIME where nameId = 3')" "waits' time"
tap_is "$(field '[(k["name"], k["count"], k["device_ns"]) for k in a["kernels"]]')" \
    "[('void gemm<\"a\\\\b\">(float*)', 3, 900021), ('Memcpy DtoH (Device -> Pinned)', 3, 30000)]" "kernels by name"
tap_is "$(field 'sorted(o["name"] for o in a["ops"])')" \
    "['[unattributed]', 'a step', 'aten::mm', 'cudaLaunchKernel', 'cudaMemcpyAsync', 'step \"1\"\\\\x0a', 'wait: cudaStreamSynchronize']" \
    "ranges, PyTorch's ops and calls by their names"
tap_is "$(field '[w["count"] for w in a["waits"]["lines"]]')" "[3]" "three waits"
tap_is "$(field '"Nsight Systems'"'"' export of NVIDIA H100" in a["source"]')" True "where it is from"

# What is advised: of a program that may not be PyTorch's nothing of PyTorch's.
torch() { field 'sorted(c["cause"] for c in a["verdict"]["causes"] if "torch" in c["advice"].replace("if it is PyTorch, torch.compile", "").replace("nvtxRangePush, torch.cuda.nvtx.range", ""))'; }
advised() { field '[c["advice"] for c in a["verdict"]["causes"] if c["cause"] == "kernels"][0][:47]'; }
tap_ok "$([[ $(torch) == *launches* ]]; echo $?)" "PyTorch's ops: PyTorch's advice" "for $(torch)"
make plain.sqlite
python3 -c 'import sqlite3; c = sqlite3.connect("plain.sqlite"); c.execute("delete from NVTX_EVENTS where text like \"aten%\" or textId in (select id from StringIds where value like \"aten%\")"); c.commit()'
"$gpush" analyze --json plain.sqlite >one.json
tap_is "$(torch) $(advised)" "[] make them cheaper: 16 bits where products and c" "no op of PyTorch's: none of PyTorch's advice"

make back.sqlite
python3 -c 'import sqlite3; c = sqlite3.connect("back.sqlite"); c.execute("update CUPTI_ACTIVITY_KIND_KERNEL set end = start - 2500 where correlationId = 0"); c.commit()'
"$gpush" analyze --json back.sqlite >one.json
tap_is "$(field 'a["devices"][0]["kernel_ns"], "; 1 events had a negative duration, and have none" in a["source"]')" \
    "(600014, True)" "a kernel that ends before it begins takes no time, and is reported"

make text.sqlite
python3 -c 'import sqlite3; c = sqlite3.connect("text.sqlite"); c.execute("update CUPTI_ACTIVITY_KIND_KERNEL set start = \"soon\" where correlationId = 0"); c.commit()'
"$gpush" analyze --json text.sqlite >one.json
tap_is "$(field 'a["wall_ns"], a["devices"][0]["kernel_ns"], a["dropped"], "1 event of 28 has no valid ts, and is left out" in a["source"]')" \
    "(2900000, 600014, 1, True)" "a row with a text as its start is left out, and counted"

make none.sqlite
python3 -c 'import sqlite3; c = sqlite3.connect("none.sqlite"); c.execute("drop table CUPTI_ACTIVITY_KIND_KERNEL"); c.commit()'
"$gpush" analyze --json none.sqlite >one.json
tap_is "$(field 'a["verdict"].get("cause"), a["verdict"]["untold"], "3 calls launched kernels, of which the trace has none" in a["verdict"]["sentence"]')" \
    "(None, 'launched', True)" "without the kernels that were launched there is no verdict"

make number.sqlite
number() { # BYTES: of the copies before the waits
    python3 -c 'import sqlite3, sys; c = sqlite3.connect("number.sqlite"); c.execute("update CUPTI_ACTIVITY_KIND_MEMCPY set bytes = ?", sys.argv[1:]); c.commit()' "$1"
    "$gpush" analyze --json number.sqlite >one.json
    field '[(w["why"], w["what"], w["count"], w["waited_ns"]) for w in a["waits"]["lines"]], sorted(c["cause"] for c in a["verdict"]["causes"] if c["cause"] in ("waits", "synchronize"))'
}
tap_is "$(number 4)" "([('item', 'copy of a number', 3, 870000)], ['waits'])" "a wait right after a copy of a number to the host reads it"
tap_is "$(number 17)" "([('explicit', 'cudaStreamSynchronize', 3, 870000)], ['synchronize'])" "after a larger one the script asks for it"

make two.sqlite 2
text=$("$gpush" analyze two.sqlite 2>&1)
tap_is "$(grep -c '^r[01]/cuda:0  *[0-9]' <<<"$text")" 2 "two processes are two ranks"
later() { # NS: moves the second process
    python3 - "$1" <<'E3'
import sqlite3, sys
c = sqlite3.connect("two.sqlite")
for table, of in ("KERNEL", "Pid"), ("MEMCPY", "Pid"), ("SYNCHRONIZATION", "Pid"), ("RUNTIME", "Tid"):
    c.execute(f"update CUPTI_ACTIVITY_KIND_{table} set start = start + ?1, end = end + ?1 where global{of} >> 24 & 16777215 = 4001", sys.argv[1:])
c.execute("update NVTX_EVENTS set start = start + ?1, end = end + ?1 where globalTid >> 24 & 16777215 = 4001", sys.argv[1:])
c.commit()
E3
    "$gpush" analyze --json two.sqlite >one.json
}
later 3000000
tap_is "$(field 'a["wall_ns"], "two.sqlite (2 processes), " in a["source"], "the ranks'"'"' clocks are as in their files" in a["source"]')" "(5900000, True, True)" \
    "which have one clock: the second begins 3 ms later"
later 1000000000
tap_is "$(field 'a["wall_ns"]')" 1005900000 "or after the first has ended"
make old.sqlite 1 old
tap_is "$("$gpush" analyze --json old.sqlite | python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"][0]["kernel_ns"])')" 900021 "columns of an older version"

refused() { # FILE TEXT NAME
    text=$("$gpush" analyze "$1" 2>&1)
    tap_is "$?" 3 "$3"
    [[ $text == *"$2"* ]]
    tap_ok $? "$3: which is said" "$text"
}
head -c 9000 one.sqlite >cut.sqlite
refused cut.sqlite "cut.sqlite cannot be read: database disk image is malformed" "a file that is cut"
python3 -c 'import sqlite3; sqlite3.connect("other.sqlite").execute("create table t (a)")'
refused other.sqlite "a database without CUDA's events or NVTX ranges" "another program's database"
python3 -c 'import sqlite3; c = sqlite3.connect("columns.sqlite"); c.execute("create table CUPTI_ACTIVITY_KIND_KERNEL (globalPid)"); c.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values (1 << 24)"); c.commit()'
refused columns.sqlite "CUPTI_ACTIVITY_KIND_KERNEL is not as this version of gpush knows it" "columns that are missing"
text=$("$gpush" analyze --max-bytes 1000 one.sqlite 2>&1)
tap_is "$?" 3 "--max-bytes"
bad=$(python3 - "$gpush" <<'E2'
import random, subprocess, sys
data = open("one.sqlite", "rb").read()
random.seed(1)
for n in range(40):
    damaged = bytearray(data)
    for _ in range(20):
        damaged[random.randrange(20, len(damaged))] = random.randrange(256)
    open("flip.sqlite", "wb").write(damaged)
    status = subprocess.run([sys.argv[1], "analyze", "flip.sqlite"], capture_output=True).returncode
    if status not in (0, 3):
        print(n, status)
E2
)
tap_empty "$bad" "bytes that were changed: a profile or an error"
tap_done
