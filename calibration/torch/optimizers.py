#!/usr/bin/env python3
"""Times PyTorch's optimizers on one GPU, one JSON object a line.

usage: optimizers.py [-o ROWS.jsonl]

A row: an optimizer and its implementation ("for-loop": kernels for each tensor; "foreach": PyTorch's
default on a GPU; "fused"), on tensors of the sizes of a network's parameters, float32. `step_s` is the
median time of a step among ten in a row, `host_s` that until the call returns, of single steps.
"""
import argparse
import json
import statistics
import sys
import time

import torch

from steps import NETWORKS

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 1e-6}),
    "sgd, momentum": (torch.optim.SGD, {"lr": 1e-6, "momentum": 0.9}),
    "adam": (torch.optim.Adam, {"lr": 1e-6}),
    "adamw": (torch.optim.AdamW, {"lr": 1e-6}),
}
IMPLEMENTATIONS = {"for-loop": {"foreach": False}, "foreach": {"foreach": True},
                   "fused": {"fused": True}}


def measure(optimizer):
    for _ in range(3):
        optimizer.step()
    torch.cuda.synchronize()
    steps, host = [], []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(10):
            optimizer.step()
        torch.cuda.synchronize()
        steps.append((time.perf_counter() - begin) / 10)
        begin = time.perf_counter()
        optimizer.step()
        host.append(time.perf_counter() - begin)
        torch.cuda.synchronize()
    return {"step_s": statistics.median(steps), "host_s": statistics.median(host)}


def main():
    parser = argparse.ArgumentParser(description="times PyTorch's optimizers on one GPU")
    parser.add_argument("-o", "--output", help="default: standard output")
    options = parser.parse_args()
    out = open(options.output, "w") if options.output else sys.stdout
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}), file=out)
    for network in ("resnet50", "vgg16", "bert-base", "bert-large", "densenet201"):
        make, batches, tokens = NETWORKS[network]
        with torch.device("cuda"):
            sizes = [p.shape for p in make(1, tokens)[0].parameters()]
        parameters = [torch.nn.Parameter(torch.randn(size, device="cuda")) for size in sizes]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        for name, (make_optimizer, settings) in OPTIMIZERS.items():
            for implementation, choice in IMPLEMENTATIONS.items():
                row = {"network": network, "tensors": len(parameters),
                       "parameters": sum(p.numel() for p in parameters), "optimizer": name,
                       "implementation": implementation}
                row |= measure(make_optimizer(parameters, **settings, **choice))
                print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
