"""Makes a database as `nsys export --type sqlite` does, for tests: of each process three steps of
1 ms, with a kernel of 300,007 ns, a copy of 4,096 bytes in 10,000 ns, and a wait of 290,000 ns.

usage: nsys.py FILE [PROCESSES [old]]; old: without the columns that came later
"""

import sqlite3
import sys

file, processes, old = sys.argv[1], int((sys.argv[2:] or [1])[0]), "old" in sys.argv
later = "" if old else ", textId INTEGER"
db = sqlite3.connect(file)
db.executescript(f"""
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  syncType INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  text TEXT, globalTid INTEGER{later});
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, globalTid INTEGER);
""")


def add(table, *values):
    db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


NAMES = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020",
         'void gemm<"a\\b">(float*)', "gemm", "a step", "python"]
for number, name in enumerate(NAMES):
    add("StringIds", number + 1, name)
add("TARGET_INFO_GPU", 0, "NVIDIA H100 80GB HBM3")
for process in range(processes):
    pid = (1 << 48) | (4000 + process) << 24
    tid = pid | (4000 + process)
    add("ThreadNames", 7, tid)
    for step in range(3):
        t, call = 10**12 + step * 10**6, 10 * step
        where = (0, 7)
        last = () if old else (None,)
        add("NVTX_EVENTS", t, t + 900000, 59, 'step "1"\n', tid, *last)
        add("NVTX_EVENTS", t + 2000, t + 20000, 59, "aten::mm, seq = 5", tid, *last)
        add("NVTX_EVENTS", t + 2500, None, 34, "a mark", tid, *last)
        if not old:
            add("NVTX_EVENTS", t + 1000, t + 100000, 60, None, tid, 6)
        add("CUPTI_ACTIVITY_KIND_RUNTIME", t + 5000, t + 12345, 0, tid, call, 1)
        add("CUPTI_ACTIVITY_KIND_KERNEL", t + 20000, t + 320007, *where, call, pid, 4, 5)
        add("CUPTI_ACTIVITY_KIND_RUNTIME", t + 30000, t + 40000, 0, tid, call + 1, 2)
        add("CUPTI_ACTIVITY_KIND_MEMCPY", t + 321000, t + 331000, *where, call + 1, pid, 4096, 2, 2, 1)
        add("CUPTI_ACTIVITY_KIND_RUNTIME", t + 50000, t + 340000, 0, tid, call + 2, 3)
        add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", t + 51000, t + 339000, *where, call + 2, pid, 3)
db.commit()
