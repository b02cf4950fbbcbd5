#!/usr/bin/env python3
"""Times one pass of a transformer's products again and again on one GPU, one JSON object a line.

usage: passes.py [-o ROWS.jsonl]

A row: a type of products and sizes of a tensor rank (`tokens`, `hidden`, `inner` values of attention
and `ffn` of the feed-forward network, `layers` of a pass). `pass_s` is the mean of 1,000 passes one
right behind another, as a CUDA graph each, behind 1,500 that are not timed; `sd` is their standard
deviation over it, and `next` the correlation of a pass with the next one.
"""
import argparse
import json
import statistics
import sys

import torch

PASSES = 1000
SIZES = [  # GPT-3 175B on 4, Nemotron-4 340B on 8 and Llama 3 70B on 4 tensor ranks
    {"tokens": 2048, "hidden": 12288, "inner": 3072, "ffn": 12288, "layers": 1},
    {"tokens": 4096, "hidden": 18432, "inner": 2304, "ffn": 9216, "layers": 1},
    {"tokens": 4096, "hidden": 8192, "inner": 2048, "ffn": 7168, "layers": 4},
]


def products(kind):
    if kind == "bfloat16":
        return lambda weight: weight, lambda x, weight: x @ weight.t()
    one = torch.ones((), device="cuda")

    def product(x, weight):
        return torch._scaled_mm(x.to(torch.float8_e4m3fn), weight.t(), scale_a=one, scale_b=one,
                                out_dtype=torch.bfloat16)
    return lambda weight: weight.to(torch.float8_e4m3fn), product


def layer(kind, tokens, hidden, inner, ffn):
    cast, product = products(kind)

    def weight(outputs, inputs):
        return cast(0.02 * torch.randn(outputs, inputs, device="cuda", dtype=torch.bfloat16))
    first, second = weight(3 * inner, hidden), weight(hidden, inner)
    third, fourth = weight(ffn, hidden), weight(hidden, ffn)
    x = 0.1 * torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16)

    def work():
        y = product(product(x, first)[:, :inner].contiguous(), second) + x
        return product(torch.nn.functional.gelu(product(y, third)), fourth) + y
    return work


def measure(kind, size):
    sizes = {key: value for key, value in size.items() if key != "layers"}
    work = layer(kind, **sizes)
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(size["layers"]):
            work()
    for _ in range(1500):
        graph.replay()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(PASSES + 1)]
    events[0].record()
    for event in events[1:]:
        graph.replay()
        event.record()
    torch.cuda.synchronize()
    times = [a.elapsed_time(b) for a, b in zip(events, events[1:])]
    mean, sd = statistics.mean(times), statistics.pstdev(times)
    return {"pass_s": mean / 1e3, "sd": sd / mean,
            "next": statistics.correlation(times[:-1], times[1:])}


def main():
    parser = argparse.ArgumentParser(description="times passes of a transformer's products")
    parser.add_argument("-o", "--output", help="default: standard output")
    options = parser.parse_args()
    out = open(options.output, "w") if options.output else sys.stdout
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}), file=out)
    for kind in ("bfloat16", "float8"):
        for size in SIZES:
            row = measure(kind, size)
            row = {"kind": kind, **size,
                   **{key: float(f"{value:.4g}") for key, value in row.items()}}
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
