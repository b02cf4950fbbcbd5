#!/usr/bin/env python3
"""Writes the layer table of a network that PyTorch can trace.

usage: layer_table.py MODULE:FUNCTION --name FAMILY/NAME [--size 224] [--source TEXT] -o TABLE.json

FUNCTION makes the network, without arguments: torchvision.models:densenet121, or one of your own. It
is traced by torch.fx in training mode; a sample has `size` x `size` pixels in three colours.
Layers are in the order of execution; one of a kind that the roofline does not know is an error, as
is a network that torch.fx cannot follow.
"""
import argparse
import collections
import datetime
import dis
import importlib
import inspect
import json
import math
import operator
import sys

import torch
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp

NOTE = ("Written by models/torch/layer_table.py from the network that torch.fx sees, in training mode. "
        "Tensor names and shapes follow the definition. macs are forward multiply-accumulates per "
        "sample without the bias; a grouped convolution that is not depthwise counts its own. input and "
        "output count values per sample; additions and products of two tensors sum their inputs. The "
        "softmax stands for the softmax with its cross-entropy loss. What the definition uses several "
        "times is numbered.")
ACTIVATIONS = (nn.ReLU, nn.ReLU6, nn.SiLU, nn.Sigmoid, nn.GELU, nn.Hardswish, nn.Hardsigmoid, nn.Tanh)
POOLINGS = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)
FUNCTIONS = {"relu": "activation", "relu_": "activation", "gelu": "activation", "silu": "activation",
             "max_pool2d": "pooling", "avg_pool2d": "pooling", "adaptive_avg_pool2d": "pooling",
             "boolean_dispatch": "pooling", "mean": "pooling",
             "add": "add", "iadd": "add", "mul": "add", "imul": "add", "cat": "concat",
             "dropout": "dropout", "stochastic_depth": "dropout", "softmax": "softmax"}
# They move no value, or make one that no sample decides.
FREE = {"flatten", "getattr", "getitem", "reshape", "view", "permute", "transpose", "size", "expand",
        "_assert", "eq", "floordiv", "contiguous", "dim", "unsqueeze", "InceptionOutputs"}


SAMPLES = 2  # batch norm in training needs more than one


def values(result):
    """Values per sample of what a node returns."""
    if isinstance(result, (tuple, list)):
        return sum(values(r) for r in result)
    meta = getattr(result, "meta", {}).get("tensor_meta") if isinstance(result, fx.Node) else result
    return math.prod(meta.shape) // SAMPLES if hasattr(meta, "shape") else 0


def tensors_of(module, prefix):
    return [{"name": f"{prefix}.{name}", "params": parameter.numel()}
            for name, parameter in module.named_parameters()]


def layer(name, kind, inputs, outputs, macs=0, tensors=()):
    entry = {"name": name, "kind": kind}
    if macs:
        entry["macs"] = macs
    entry |= {"input": inputs, "output": outputs}
    if tensors:
        entry["tensors"] = list(tensors)
    return entry


def attention(name, module, tokens):
    """Self-attention as its products: projection, scores, softmax, context, projection back."""
    width, heads = module.embed_dim, module.num_heads
    own = {t["name"].rsplit(".", 2)[-1] if "out_proj" not in t["name"] else
           t["name"][len(name) + 1:]: t for t in tensors_of(module, name)}
    pairs = tokens * tokens
    return [
        layer(f"{name}.in_proj", "fully-connected", tokens * width, 3 * tokens * width,
              3 * tokens * width * width, [own["in_proj_weight"], own["in_proj_bias"]]),
        layer(f"{name}.scores", "matrix-product", 2 * tokens * width, heads * pairs, pairs * width),
        layer(f"{name}.softmax", "softmax", heads * pairs, heads * pairs),
        layer(f"{name}.context", "matrix-product", heads * pairs + tokens * width, tokens * width,
              pairs * width),
        layer(f"{name}.out_proj", "fully-connected", tokens * width, tokens * width,
              tokens * width * width, [own["out_proj.weight"], own["out_proj.bias"]])]


def module_layers(name, module, node):
    inputs = sum(values(a) for a in node.all_input_nodes)
    outputs = values(node)
    tensors = tensors_of(module, node.target)
    if isinstance(module, nn.Conv2d):
        per_output = module.in_channels // module.groups * math.prod(module.kernel_size)
        is_depthwise = module.groups == module.in_channels and module.groups > 1
        return [layer(name, "depthwise-convolution" if is_depthwise else "convolution", inputs,
                      outputs, outputs * per_output, tensors)]
    if isinstance(module, nn.Linear):
        return [layer(name, "fully-connected", inputs, outputs, outputs * module.in_features, tensors)]
    if isinstance(module, nn.MultiheadAttention):
        query = node.args[0] if node.args else node.kwargs["query"]
        return attention(name, module, values(query) // module.embed_dim)
    if isinstance(module, nn.Dropout) and module.p == 0:
        return []
    for kinds, kind in ((nn.BatchNorm2d, "batch-norm"), (nn.LayerNorm, "layer-norm"),
                        (ACTIVATIONS, "activation"), (POOLINGS, "pooling"), (nn.Dropout, "dropout"),
                        (nn.LocalResponseNorm, "lrn"), (nn.Softmax, "softmax")):
        if isinstance(module, kinds):
            return [layer(name, kind, inputs, outputs, tensors=tensors)]
    if type(module).__name__ == "StochasticDepth":
        return [layer(name, "dropout", inputs, outputs)]
    if isinstance(module, (nn.Flatten, nn.Identity)):
        return []
    raise SystemExit(f"{name}: the roofline knows no layer like {type(module).__name__}")


def unpacked(value):
    """`a, b = value`, in Pythons newer than torch.fx: as many as the assignment has names."""
    frame = inspect.currentframe().f_back
    names = next(i.argval for i in dis.get_instructions(frame.f_code)
                 if i.offset >= frame.f_lasti and i.opname == "UNPACK_SEQUENCE")
    return iter([value[i] for i in range(names)])


fx.Proxy.__iter__ = unpacked


def layers_of(network, sample):
    traced = fx.symbolic_trace(network)
    ShapeProp(traced).propagate(sample)
    modules = dict(traced.named_modules())
    uses = collections.Counter(n.target for n in traced.graph.nodes if n.op == "call_module")
    used = collections.Counter()
    found = []
    free = []  # parameters outside of modules, of the next layer
    for node in traced.graph.nodes:
        before = len(found)
        if node.op == "get_attr" and isinstance(operator.attrgetter(node.target)(network), nn.Parameter):
            parameter = operator.attrgetter(node.target)(network)
            free.append({"name": node.target, "params": parameter.numel()})
        elif node.op == "call_module":
            used[node.target] += 1
            name = node.target + (str(used[node.target]) if uses[node.target] > 1 else "")
            found += module_layers(name, modules[node.target], node)
        elif node.op in ("call_function", "call_method"):
            call = node.target if isinstance(node.target, str) else node.target.__name__
            if call.lstrip("_") in FREE or call in FREE:
                continue
            kind = FUNCTIONS.get(call)
            if kind is None:
                raise SystemExit(f"{node.name}: the roofline knows no layer like {call}")
            inputs = sum(values(a) for a in node.all_input_nodes)
            if inputs:
                found.append(layer(node.name, kind, inputs, values(node)))
        if free and len(found) > before:
            found[before].setdefault("tensors", []).extend(free)
            free = []
    classes = found[-1]["output"]
    return found + [layer("softmax", "softmax", classes, classes)]


def main():
    parser = argparse.ArgumentParser(description="writes the layer table of a PyTorch network")
    parser.add_argument("network", help="MODULE:FUNCTION")
    parser.add_argument("--name", required=True, help="FAMILY/NAME")
    parser.add_argument("--size", type=int, default=224, help="pixels in a row")
    parser.add_argument("--source", help="default: the function and the version of its module")
    parser.add_argument("--licence", default="BSD-3-Clause", help="of the definition")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    module_name, _, function = options.network.partition(":")
    module = importlib.import_module(module_name)
    network = getattr(module, function)().train()
    layers = layers_of(network, torch.randn(SAMPLES, 3, options.size, options.size))
    version = getattr(sys.modules[module_name.split(".")[0]], "__version__", "")
    head = {"format": "steptime-model", "version": 1, "name": options.name, "aliases": [],
            "input": [3, options.size, options.size],
            "provenance": {"source": options.source or f"{module_name} {version}, {function}".strip(),
                           "licence": options.licence,
                           "date": datetime.date.today().isoformat(), "note": NOTE}}
    with open(options.output, "w") as out:
        out.write("{\n" + "".join(f"  {json.dumps(k)}: {json.dumps(v)},\n" for k, v in head.items()) +
                  '  "layers": [\n' + ",\n".join("    " + json.dumps(l) for l in layers) + "\n  ]\n}\n")
    parameters = sum(t["params"] for l in layers for t in l.get("tensors", ()))
    print(f"{options.name}: {len(layers)} layers, {parameters:,} parameters, "
          f"{sum(l.get('macs', 0) for l in layers) / 1e9:.3f} G multiply-accumulates a sample")


if __name__ == "__main__":
    main()
