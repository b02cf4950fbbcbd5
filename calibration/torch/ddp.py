#!/usr/bin/env python3
"""Times what DistributedDataParallel adds to training steps on one GPU, one JSON object a line.

usage: ddp.py [-o ROWS.jsonl] [--seconds N] [--for SECONDS] [--only NAME[,NAME...]]

In a group of one rank NCCL has nothing to send, and DDP does all else: it copies gradients into
buckets and back, and sends the network's buffers to itself. A row has the medians, in seconds, of
the three passes by the GPU's events, of the step on the wall, and of what the host's thread takes to
launch one; from a profile of two steps the launches and the microseconds of all kernels and copies
(`kernels`, `kernel_us`), and for every variant but the first what each kernel has more than without
DDP (`added`: launches, microseconds, and bytes of copies, a step).

Variants: "plain"; "ddp": its defaults; "ddp-nobuffers": broadcast_buffers=False; "ddp-view":
gradient_as_bucket_view=True; "plain-zero", "ddp-view-zero": gradients are zeroed and stay, instead
of going (zero_grad's set_to_none=False); "ddp-static": static_graph=True.
Networks, data and precisions are those of steps.py beside this file.
"""
import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time

import steps
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

WARM_UP = 6  # steps
BURST = 5  # steps without a wait, as in training
ALL = ("plain", "ddp", "ddp-nobuffers", "ddp-view", "plain-zero", "ddp-view-zero", "ddp-static")
VIEW = ("plain", "ddp", "ddp-view")
TWO = ("plain", "ddp")
# network, batch, precision, memory format, variants
PLAN = [
    ("resnet50", 64, "bfloat16", "channels-last", ALL),
    ("resnet50", 64, "tf32", "contiguous", ALL),
    ("bert-large", 8, "bfloat16", "contiguous", VIEW),
    ("gpt2", 4, "bfloat16", "contiguous", VIEW),
    ("resnet50", 32, "bfloat16", "channels-last", VIEW),
    ("resnet50", 32, "tf32", "contiguous", VIEW),
    ("resnet50", 32, "bfloat16", "contiguous", TWO),
    ("resnet50", 128, "bfloat16", "channels-last", TWO),
    ("resnet50", 256, "bfloat16", "channels-last", TWO),
    ("resnet50", 128, "tf32", "contiguous", TWO),
    ("resnet50", 256, "tf32", "contiguous", TWO),
    ("bert-large", 8, "tf32", "contiguous", TWO),
    ("bert-large", 32, "bfloat16", "contiguous", TWO),
    ("resnet50", 32, "float32", "contiguous", TWO),
]


def build(name, batch, precision, memory_format, variant):
    """The network, and a step that calls `mark` before, between and after its three parts."""
    make, _, tokens = steps.NETWORKS[name]
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.manual_seed(0)
    with torch.device("cuda"):
        network, loss, to_channels_last = make(batch, tokens)
    network.train()
    if memory_format == "channels-last":
        network.to(memory_format=torch.channels_last)
        to_channels_last()
    model = network
    if variant.startswith("ddp"):
        model = torch.nn.parallel.DistributedDataParallel(
            network, device_ids=[0], bucket_cap_mb=25, broadcast_buffers="nobuffers" not in variant,
            gradient_as_bucket_view="view" in variant, static_graph="static" in variant)
    optimizer = steps.make_optimizer("adamw" if tokens else "sgd", network.parameters())

    def step(mark=lambda: None):
        mark()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bfloat16",
                            cache_enabled=False):
            value = loss(model)
        mark()
        value.backward()
        mark()
        optimizer.step()
        mark()
        optimizer.zero_grad(set_to_none="zero" not in variant)

    return network, step


def kernels(step, count=2):
    """Launches, microseconds and bytes of a step, by kernel; bytes only of copies."""
    with profile(activities=[ProfilerActivity.CUDA]) as of:
        for _ in range(count):
            step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        of.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    found = {}
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        launches, us, size = found.get(event["name"], (0, 0, 0))
        size += event.get("args", {}).get("bytes") or 0
        found[event["name"]] = (launches + 1, us + event["dur"], size)
    return {name: tuple(sum_ / count for sum_ in sums) for name, sums in found.items()}


def timed(step, seconds):
    laps, walls, hosts = [], [], []
    start = time.perf_counter()
    while len(walls) < 3 or (time.perf_counter() - start < seconds and len(walls) < 20):
        events = []

        def mark():
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()

        begin = time.perf_counter()
        for _ in range(BURST):
            step(mark)
        hosts.append((time.perf_counter() - begin) / BURST)
        torch.cuda.synchronize()
        walls.append((time.perf_counter() - begin) / BURST)
        for i in range(0, len(events), 4):
            passes = events[i:i + 4]
            laps.append([a.elapsed_time(b) * 1e-3 for a, b in zip(passes, passes[1:])])
    middle = [statistics.median(column) for column in zip(*laps)]
    return {"forward_s": middle[0], "backward_s": middle[1], "optimizer_s": middle[2],
            "step_s": statistics.median(walls), "host_s": statistics.median(hosts)}


def measure(name, batch, precision, memory_format, variant, plain, seconds):
    """A row, and the kernels behind it."""
    network, step = build(name, batch, precision, memory_format, variant)
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    row = timed(step, seconds)
    found = kernels(step)
    row |= {"tensors": len(list(network.parameters())),
            "parameters": sum(p.numel() for p in network.parameters()),
            "buffers": len(list(network.buffers())),
            "kernels": sum(launches for launches, _, _ in found.values()),
            "kernel_us": sum(us for _, us, _ in found.values())}
    if plain:
        row["added"] = []
        for kernel in sorted(set(found) | set(plain)):
            more, less = found.get(kernel, (0, 0, 0)), plain.get(kernel, (0, 0, 0))
            if more[0] != less[0]:
                row["added"].append({"kernel": kernel, "launches": more[0] - less[0],
                                     "us": more[1] - less[1], "bytes": more[2] - less[2]})
    return row, found


def main():
    parser = argparse.ArgumentParser(description="times what DDP adds to training steps")
    parser.add_argument("-o", "--output", help="default: standard output")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each row, after warming up")
    parser.add_argument("--for", dest="limit", type=float, default=3600, help="seconds in all")
    parser.add_argument("--only", help="networks, separated by commas")
    options = parser.parse_args()
    out = open(options.output, "w") if options.output else sys.stdout
    properties = torch.cuda.get_device_properties(0)
    print(json.dumps({"device": properties.name, "torch": torch.__version__,
                      "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                      "nccl": ".".join(map(str, torch.cuda.nccl.version()))}), file=out, flush=True)
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1,
                            device_id=torch.device("cuda", 0))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    torch.cuda.set_stream(stream)
    begin = time.perf_counter()
    for name, batch, precision, memory_format, variants in PLAN:
        if options.only and name not in options.only.split(","):
            continue
        plain = None
        for variant in variants:
            if time.perf_counter() - begin > options.limit:
                return
            row, found = measure(name, batch, precision, memory_format, variant, plain,
                                 options.seconds)
            plain = plain or found
            print(json.dumps({"network": name, "batch": batch, "precision": precision,
                              "memory_format": memory_format, "variant": variant} | row),
                  file=out, flush=True)
            print(name, precision, batch, variant, row["step_s"], file=sys.stderr, flush=True)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
