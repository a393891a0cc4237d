"""Compares what gpush analyze --json says of traces with HolisticTraceAnalysis, and with
TensorBoard's plug-in where it is there: a line for each figure, the name, gpush's, the other's and
1 where they differ by more than 1 %, separated by tabs."""
import gzip
import json
import logging
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis  # noqa: E402

logging.disable(logging.CRITICAL)

# The calls that HTA's launch statistics know; copies that were waited for have no call's name.
CALLS = (None, "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")


def us(row, field):
    return row[field + "_ns"] / 1000


def devices(got, trace):
    device, row = got["devices"][0], trace.get_temporal_breakdown(visualize=False).iloc[0]
    for mine, its in (("idle", "idle"), ("compute", "compute"), ("other", "non_compute"),
                      ("span", "kernel")):
        yield f"device: {mine}, us", us(device, mine), row[f"{its}_time(us)"]
    met = device["collective_ns"]
    overlap = trace.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
    if met:
        yield "device: collectives beside computing, %", 100 * device["overlapped_ns"] / met, overlap


def streams(got, trace):
    idle, _ = trace.get_idle_time_breakdown(ranks=[0], visualize=False)
    lengths = trace.get_queue_length_summary(ranks=[0])["queue_length"]
    for q in got["streams"]:
        name, of = f"stream {q['stream']}", idle[idle.stream == q["stream"]]
        of = of.set_index("idle_category").idle_time
        for kind in ("host_wait", "kernel_wait", "other"):
            yield f"{name}: {kind}, us", us(q, kind), float(of.get(kind, 0))
        if (0, q["stream"]) not in lengths.index:
            continue
        its = lengths.loc[(0, q["stream"])]
        yield f"{name}: changes of its queue", q["changes"], its["count"]
        for mine, field in (("mean", "mean"), ("std", "std"), ("min", "min"), ("q25", "25%"),
                            ("median", "50%"), ("q75", "75%"), ("max", "max")):
            yield f"{name}: queued, {mine}", q["queued_" + mine], its[field]


def launches(got, trace):
    all_calls = trace.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    mine = [row for row in got["launches"] if row.get("call") in CALLS]
    took, ran, late = all_calls.cpu_duration, all_calls.gpu_duration, all_calls.launch_delay
    for name, field, want in (("launches", "times", len(all_calls)),
                              ("launches: calls, ns", "called_ns", 1000 * took.sum()),
                              ("launches: their work, ns", "work_ns", 1000 * ran.sum()),
                              ("launches: delays, ns", "delay_ns", 1000 * late.sum()),
                              ("launches: shorter than the call", "short", (ran < took).sum()),
                              ("launches: calls of more than 50 us", "slow", (took > 50).sum()),
                              ("launches: more than 100 us later", "late", (late > 100).sum())):
        yield name, sum(row[field] for row in mine), want


def kernels(got, trace):
    _, rows = trace.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0,
                                             num_kernels=10**6, include_memory_kernels=True)
    rows, mine = rows.set_index("name"), {row["name"]: row for row in got["kernels"]}
    yield "kernels: names", len(mine), len(rows)
    for name in sorted(mine.keys() & set(rows.index)):
        row, its = mine[name], rows.loc[name]
        yield f"{name[:50]}: sum, us", us(row, "device"), its["sum (us)"]
        yield f"{name[:50]}: shortest, us", us(row, "shortest"), its["min (us)"]
        yield f"{name[:50]}: longest, us", us(row, "longest"), its["max (us)"]
        yield f"{name[:50]}: mean, us", us(row, "device") / row["count"], its["mean (us)"]


def tensorboard(got, path):
    try:
        from torch_tb_profiler.profiler import kernel_parser, trace
    except ImportError:
        return
    with (gzip.open if path.endswith(".gz") else open)(path) as file:
        data = [e for e in json.load(file)["traceEvents"] if e.get("cat") != "forward_backward"]
    parser = kernel_parser.KernelParser()
    parser.parse_events([e for e in (trace.create_event(d, False) for d in data) if e])
    mine = {row["name"]: row for row in got["kernels"]}
    for name, its in parser.kernel_stat.iterrows():
        row = mine.get(name, {})
        for what, figure, want in (("runs", row.get("count", 0), its["count"]),
                                   ("blocks per SM", row.get("blocks_per_sm", 0),
                                    its["blocks_per_sm"]),
                                   ("occupancy, %", 100 * row.get("occupancy", 0),
                                    its["occupancy"])):
            yield f"TensorBoard: {name[:50]}: {what}", figure, want
    all_ns = sum(device["kernel_ns"] for device in got["devices"])
    yield ("TensorBoard: on tensor cores, %", 100 * got["tensor_core_ns"] / all_ns,
           100 * parser.tc_used_ratio)


def compare(name, figures):
    for what, mine, its in figures:
        off = int(abs(mine - its) > 0.01 * abs(its) + 1e-6)
        print(f"{name}: {what}\t{mine:.10g}\t{its:.10g}\t{off}")


def main(gpush, *paths):
    for path in paths:
        got = json.loads(subprocess.check_output(
            [gpush, "analyze", "--json", "--limit", "1000000", path]))
        trace = TraceAnalysis(trace_files={0: os.path.abspath(path)}, trace_dir="/",
                              include_last_profiler_step=True)
        name = os.path.basename(path).split(".")[0]
        for part in (devices, streams, launches, kernels):
            compare(name, part(got, trace))
        compare(name, tensorboard(got, path))


main(*sys.argv[1:])
