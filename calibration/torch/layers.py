#!/usr/bin/env python3
"""Times the parts of a transformer's layer on one GPU with PyTorch, one JSON object a line.

usage: layers.py [-o ROWS.jsonl] [--for SECONDS] [--only KIND[,KIND...]]

Rows, in this order, by `kind`; times are seconds, medians of five bursts between two events of the
GPU, for which the host runs ahead:
  layer      a whole layer at a Llama 3 shape: forward pass, and backward pass with the gradients of
             input and weights, in bfloat16; `how`: "eager" (norms in one kernel), "eager, norms of
             several kernels" or "compiled"
  product    a product of the layer (or the logits) and its two gradients, in bfloat16, "float8"
             (one scale a tensor) or "float8, row-wise"; without casts; in float8 the forward pass
             accumulates fast, as torchao's recipes do, and the gradients do not
  attention  causal, of PyTorch's flash and cuDNN backends
  operator   what stands between products, and the loss
  optimizer  AdamW on 64 tensors of 8 Mi values in float32
  copy       of 1 GiB within the GPU's memory
`tensor`: ranks that a layer is cut over, of which one is timed, without communication and with whole
norms. Data is random: zeroes are faster.
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = {"llama3.1-8b": {"hidden": 4096, "heads": 32, "kv_heads": 8, "head": 128, "ffn": 14336},
          "llama3.1-70b": {"hidden": 8192, "heads": 64, "kv_heads": 8, "head": 128, "ffn": 28672}}
VOCABULARY = 128256
TOKENS = 8192
BF16 = torch.bfloat16
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


def random(*size, grad=False):
    return torch.randn(*size, device="cuda", dtype=BF16, requires_grad=grad)


def timed(call, seconds=0.12, warm_up=0.04):
    call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    one = max(time.perf_counter() - begin, 2e-5)
    for _ in range(min(200, int(warm_up / one))):
        call()
    count = max(1, min(400, int(seconds / 5 / one)))
    laps = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        laps.append(start.elapsed_time(end) * 1e-3 / count)
    return statistics.median(laps)


def products(shape, tensor):
    """Inputs and outputs of the products of a rank's layer."""
    s = SHAPES[shape]
    queries, keys = s["heads"] * s["head"] // tensor, s["kv_heads"] * s["head"] // tensor
    ffn, hidden = s["ffn"] // tensor, s["hidden"]
    return {"qkv": (hidden, queries + 2 * keys), "out": (queries, hidden),
            "gate and up": (hidden, 2 * ffn), "down": (ffn, hidden)}


def product(tokens, inputs, outputs):
    x, w, g = random(tokens, inputs), random(outputs, inputs) / inputs ** .5, random(tokens, outputs)
    return {"forward_s": timed(lambda: F.linear(x, w), 0.1, 0.03),
            "input_s": timed(lambda: g @ w, 0.1, 0.03),
            "weight_s": timed(lambda: g.t() @ x, 0.1, 0.03)}


def float8(x, row_wise):
    """The tensor in eight bits, and the factors that undo its scale."""
    top = torch.finfo(torch.float8_e4m3fn).max
    largest = x.abs().amax(1, keepdim=True) if row_wise else x.abs().amax()
    scale = top / largest.float().clamp(min=1e-12)
    return (x.float() * scale).clamp(-top, top).to(torch.float8_e4m3fn), 1 / scale


def float8_product(tokens, inputs, outputs, row_wise):
    x, w, g = random(tokens, inputs), random(outputs, inputs) / inputs ** .5, random(tokens, outputs)
    row = {}
    # Rows of the left factor by rows of the right one: the layout that the units ask for.
    for what, left, right, fast in (("forward", x, w, True), ("input", g, w.t().contiguous(), False),
                                    ("weight", g.t().contiguous(), x.t().contiguous(), False),
                                    ("forward, split accumulator", x, w, False)):
        a, scale_a = float8(left, row_wise)
        b, scale_b = float8(right, row_wise)
        scale_b = scale_b.t() if row_wise else scale_b
        row[what + "_s"] = timed(
            lambda: torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=BF16,
                                     use_fast_accum=fast), 0.08, 0.03)
    return row


def attention(heads, kv_heads, batch, sequence, backend):
    def values(count):
        return random(batch, sequence, count, 128).transpose(1, 2).requires_grad_()

    q, k, v, g = values(heads), values(kv_heads), values(kv_heads), values(heads).detach()

    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv_heads)

    with sdpa_kernel(BACKENDS[backend]):
        alone = timed(forward)
        both = timed(lambda: torch.autograd.grad(forward(), (q, k, v), g))
    return {"forward_s": alone, "backward_s": both - alone}


def norm_of_several_kernels(x, w):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * w


def rotated(q, cosine, sine):
    a, b = q.chunk(2, -1)
    return q * cosine + torch.cat((-b, a), -1) * sine


def gated(both):
    gate, up = both.chunk(2, -1)
    return F.silu(gate) * up


def operators():
    """Names, values of a token that each must read or write, calls, and what has gradients."""
    for hidden, ffn in ((4096, 14336), (8192, 3584)):
        x, r = random(TOKENS, hidden, grad=True), random(TOKENS, hidden, grad=True)
        w = torch.ones(hidden, device="cuda", dtype=BF16, requires_grad=True)
        both, q = random(TOKENS, 2 * ffn, grad=True), random(1, hidden // 128, TOKENS, 128, grad=True)
        cosine, sine = random(TOKENS, 128), random(TOKENS, 128)
        yield f"F.rms_norm {hidden}", 2 * hidden, lambda: F.rms_norm(x, (hidden,), w, 1e-5), (x, w)
        yield (f"RMS norm of several kernels {hidden}", 2 * hidden,
               lambda: norm_of_several_kernels(x, w), (x, w))
        yield (f"F.layer_norm {hidden}", 2 * hidden,
               lambda: F.layer_norm(x, (hidden,), w, None, 1e-5), (x, w))
        yield f"residual {hidden}", 3 * hidden, lambda: x + r, (x, r)
        yield f"SwiGLU eager {ffn}", 3 * ffn, lambda: gated(both), (both,)
        yield f"rotary positions eager {hidden}", 2 * hidden, lambda: rotated(q, cosine, sine), (q,)
    logits = random(TOKENS, VOCABULARY, grad=True)
    words = torch.randint(VOCABULARY, (TOKENS,), device="cuda")

    def loss():
        return F.cross_entropy(logits.float(), words)

    yield "cross-entropy in float32 copies", VOCABULARY, loss, (logits,)
    yield "cross-entropy, compiled", VOCABULARY, torch.compile(loss), (logits,)


def operator(call, inputs):
    g = torch.randn_like(call())
    forward = timed(call)
    return {"forward_s": forward,
            "backward_s": timed(lambda: torch.autograd.grad(call(), inputs, g)) - forward}


class Layer(torch.nn.Module):
    def __init__(self, shape, tensor, how):
        super().__init__()
        s = SHAPES[shape]
        self.heads, self.kv_heads, self.head = s["heads"] // tensor, s["kv_heads"] // tensor, s["head"]
        self.fused_norms = how == "eager"

        def weight(*size):
            return torch.nn.Parameter(random(*size) / size[-1] ** .5)

        self.first_norm, self.second_norm = weight(s["hidden"]), weight(s["hidden"])
        self.qkv, self.out, self.up, self.down = (
            weight(outputs, inputs) for inputs, outputs in products(shape, tensor).values())

    def norm(self, x, w):
        return F.rms_norm(x, (x.size(-1),), w, 1e-5) if self.fused_norms \
            else norm_of_several_kernels(x, w)

    def forward(self, x, cosine, sine):
        batch, sequence, _ = x.shape
        y = F.linear(self.norm(x, self.first_norm), self.qkv)
        y = y.view(batch, sequence, -1, self.head).transpose(1, 2)
        q, k, v = y.split((self.heads, self.kv_heads, self.kv_heads), 1)
        y = F.scaled_dot_product_attention(rotated(q, cosine, sine), rotated(k, cosine, sine), v,
                                           is_causal=True, enable_gqa=self.heads != self.kv_heads)
        x = x + F.linear(y.transpose(1, 2).reshape(batch, sequence, -1), self.out)
        y = gated(F.linear(self.norm(x, self.second_norm), self.up))
        return x + F.linear(y, self.down)


def layer(shape, tensor, batch, sequence, how, backend):
    torch.compiler.reset()
    network = Layer(shape, tensor, how)
    x = random(batch, sequence, SHAPES[shape]["hidden"], grad=True)
    g, cosine, sine = torch.randn_like(x), random(sequence, 128), random(sequence, 128)
    run = torch.compile(network) if how == "compiled" else network
    inputs = (x, *network.parameters())
    with sdpa_kernel(BACKENDS[backend]):
        both = timed(lambda: torch.autograd.grad(run(x, cosine, sine), inputs, g), 0.35, 0.1)
        forward = timed(lambda: run(x, cosine, sine), 0.25, 0.1)
    return {"forward_s": forward, "backward_s": both - forward}


def optimizer(implementation):
    tensors = [torch.randn(1 << 23, device="cuda", requires_grad=True) for _ in range(64)]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor)
    return {"step_s": timed(torch.optim.AdamW(tensors, lr=1e-6, **{implementation: True}).step, 0.2)}


def copy():
    x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)
    return {"step_s": timed(lambda: y.copy_(x))}


def plan():
    """Pairs: what a row says, and the call that measures it."""
    layers = [(shape, t, 1, TOKENS, "eager", "flash") for shape in SHAPES for t in (1, 4, 8)]
    layers += [("llama3.1-8b", 1, 1, TOKENS, "eager, norms of several kernels", "flash"),
               ("llama3.1-8b", 1, 4, 2048, "eager", "flash"),
               ("llama3.1-70b", 8, 4, 2048, "eager", "flash"),
               ("llama3.1-8b", 1, 1, TOKENS, "eager", "cudnn"),
               ("llama3.1-70b", 8, 1, TOKENS, "eager", "cudnn"),
               ("llama3.1-8b", 1, 1, TOKENS, "compiled", "flash"),
               ("llama3.1-70b", 8, 1, TOKENS, "compiled", "flash")]
    for what in layers:
        keys = ("shape", "tensor", "batch", "sequence", "how", "attention")
        yield {"kind": "layer"} | dict(zip(keys, what)), lambda: layer(*what)
    for shape in SHAPES:
        for tokens, tensors in ((TOKENS, (1, 4, 8)), (2048, (1, 8))):
            for t in tensors:
                for name, (inputs, outputs) in products(shape, t).items():
                    row = {"kind": "product", "shape": shape, "tensor": t, "product": name,
                           "tokens": tokens, "inputs": inputs, "outputs": outputs}
                    yield row | {"precision": "bfloat16"}, lambda: product(tokens, inputs, outputs)
                    if tokens != TOKENS:
                        continue
                    yield (row | {"precision": "float8"},
                           lambda: float8_product(tokens, inputs, outputs, False))
                    yield (row | {"precision": "float8, row-wise"},
                           lambda: float8_product(tokens, inputs, outputs, True))
    for heads, kv_heads, batch, sequence in ((32, 8, 1, TOKENS), (64, 8, 1, TOKENS), (8, 1, 1, TOKENS),
                                             (4, 1, 1, TOKENS), (32, 8, 4, 2048), (32, 32, 2, 4096)):
        for backend in BACKENDS:
            yield ({"kind": "attention", "attention": backend, "heads": heads, "kv_heads": kv_heads,
                    "batch": batch, "sequence": sequence},
                   lambda: attention(heads, kv_heads, batch, sequence, backend))
    for implementation in ("fused", "foreach"):
        yield ({"kind": "optimizer", "implementation": implementation, "parameters": 64 << 23},
               lambda: optimizer(implementation))
    yield {"kind": "copy", "bytes": 1 << 30}, copy
    for name, values, call, inputs in operators():
        yield ({"kind": "operator", "operator": name, "tokens": TOKENS, "values_a_token": values},
               lambda: operator(call, inputs))


def main():
    parser = argparse.ArgumentParser(description="times the parts of a transformer's layer")
    parser.add_argument("-o", "--output", help="default: standard output")
    parser.add_argument("--for", dest="limit", type=float, default=3600, help="seconds in all")
    parser.add_argument("--only", help="kinds, separated by commas")
    options = parser.parse_args()
    out = open(options.output, "w") if options.output else sys.stdout
    properties = torch.cuda.get_device_properties(0)
    print(json.dumps({"device": properties.name, "torch": torch.__version__,
                      "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                      "multiprocessors": properties.multi_processor_count}), file=out, flush=True)
    begin = time.perf_counter()
    for row, measured in plan():
        if time.perf_counter() - begin > options.limit:
            return
        if options.only and row["kind"] not in options.only.split(","):
            continue
        try:
            row |= measured()
        except RuntimeError as error:
            row["error"] = str(error).split("\n")[0]
        print(json.dumps(row), file=out, flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
