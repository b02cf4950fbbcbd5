#!/usr/bin/env python3
"""Profiles training steps on one GPU and times the same steps without the profiler.

usage: profiles.py FOLDER [--only NAME[;NAME...]]

Writes a trace of PyTorch's profiler for each network, NETWORK-BATCH-PRECISION.json.gz, of one step,
as `steptime import kineto` reads it, and rows.jsonl: how long a step took, in seconds, in bursts of
ten without a wait (`step_s`, the median of the bursts), and what the host's thread needed to launch
one (`host_s`). Networks, data and precisions are those of steps.py beside this file.
"""
import argparse
import gc
import json
import os
import statistics
import sys
import time

import ddp
import torch
from torch.profiler import ProfilerActivity, profile, schedule

WARM_UP = 6  # steps
BURST = 10  # steps without a wait, as in training
# network, batch, precision, memory format
PLAN = [
    ("resnet50", 128, "bfloat16", "channels-last"),
    ("vit-b-16", 128, "bfloat16", "contiguous"),
    ("gpt2", 8, "bfloat16", "contiguous"),
    ("bert-large", 32, "bfloat16", "contiguous"),
    ("resnet50", 64, "tf32", "contiguous"),
    ("vgg16", 128, "bfloat16", "channels-last"),
    ("densenet121", 128, "bfloat16", "channels-last"),
    ("bert-large, 512 tokens", 8, "tf32", "contiguous"),
    ("gpt2-xl", 2, "bfloat16", "contiguous"),
]


def timed(step):
    walls, hosts = [], []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(BURST):
            step()
        hosts.append((time.perf_counter() - begin) / BURST)
        torch.cuda.synchronize()
        walls.append((time.perf_counter() - begin) / BURST)
    return {"step_s": statistics.median(walls), "host_s": statistics.median(hosts)}


def profiled(step, path):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 schedule=schedule(wait=0, warmup=2, active=1),
                 on_trace_ready=lambda of: of.export_chrome_trace(path)) as of:
        for _ in range(3):
            step()
            of.step()


def main():
    parser = argparse.ArgumentParser(description="profiles training steps, and times them without")
    parser.add_argument("folder")
    parser.add_argument("--only", help="networks, separated by semicolons")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "rows.jsonl"), "w") as out:
        properties = torch.cuda.get_device_properties(0)
        print(json.dumps({"device": properties.name, "torch": torch.__version__,
                          "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}),
              file=out, flush=True)
        for name, batch, precision, memory_format in PLAN:
            if options.only and name not in options.only.split(";"):
                continue
            _, step = ddp.build(name, batch, precision, memory_format, "plain")
            for _ in range(WARM_UP):
                step()
            row = timed(step)
            trace = f"{name.replace(', ', '-').replace(' ', '-')}-{batch}-{precision}.json.gz"
            profiled(step, os.path.join(options.folder, trace))
            print(json.dumps({"trace": trace, "network": name, "batch": batch,
                              "precision": precision, "memory_format": memory_format} | row),
                  file=out, flush=True)
            print(trace, row, file=sys.stderr, flush=True)
            del step
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
