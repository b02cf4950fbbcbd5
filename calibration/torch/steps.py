#!/usr/bin/env python3
"""Times training steps of published networks on one GPU with PyTorch, one JSON object a line.

usage: steps.py [-o ROWS.jsonl] [--seconds N] [--only NAME[,NAME...]]

A row has the medians, in seconds, of the forward pass, the backward pass and the optimizer as the
GPU's events tell them (a pass that waits for the host is as long as the host), of the whole step on
the wall, and of the whole step replayed as a CUDA graph, in which the host has no part; the most
memory that PyTorch had allocated; and what else decides them: batch, tokens of a sample, precision,
memory format, optimizer. Data is random and stays on the GPU: no input pipeline.

Precisions: "float32" with TF32 off everywhere; "tf32"; "bfloat16": autocast, float32 weights;
"bfloat16 weights": all of it. Networks are built from torchvision and transformers with random
weights. What does not fit in memory is a row with "error".
"""
import argparse
import gc
import json
import statistics
import sys
import time

import torch

WARM_UP = 4  # steps


def torchvision_network(name):
    def make(batch, _tokens):
        import torchvision

        options = {"init_weights": True} if name == "inception_v3" else {}
        network = getattr(torchvision.models, name)(weights=None, **options)
        size = 299 if name == "inception_v3" else 224
        images = torch.randn(batch, 3, size, size, device="cuda")
        labels = torch.randint(1000, (batch,), device="cuda")
        cross_entropy = torch.nn.functional.cross_entropy

        def loss(model):
            out = model(images)
            if name == "inception_v3":
                return cross_entropy(out.logits, labels) + 0.4 * cross_entropy(out.aux_logits, labels)
            return cross_entropy(out, labels)

        def to_channels_last():
            nonlocal images
            images = images.to(memory_format=torch.channels_last)

        return network, loss, to_channels_last

    return make


def language_network(config, head, vocabulary, **settings):
    def make(batch, tokens):
        import transformers

        configuration = getattr(transformers, config)(vocab_size=vocabulary, **settings)
        network = getattr(transformers, head)(configuration)
        words = torch.randint(vocabulary, (batch, tokens), device="cuda")
        extra = {"next_sentence_label": torch.zeros(batch, dtype=torch.long, device="cuda")} \
            if head == "BertForPreTraining" else {}
        return network, lambda model: model(input_ids=words, labels=words, **extra).loss, None

    return make


BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
              "intermediate_size": 4096}
LLAMA_7B = {"hidden_size": 4096, "intermediate_size": 11008,
            "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 4096}
# GPT-2's activation in one kernel, and BERT's vocabulary padded to a multiple of 8, as they are trained.
# name: maker, batches, tokens of a sample
NETWORKS = {
    "resnet50": (torchvision_network("resnet50"), (16, 64, 128, 256), None),
    "vgg16": (torchvision_network("vgg16"), (32, 128), None),
    "bert-base": (language_network("BertConfig", "BertForPreTraining", 30528), (8, 32, 64), 128),
    "gpt2": (language_network("GPT2Config", "GPT2LMHeadModel", 50257,
                              activation_function="gelu_pytorch_tanh"), (4, 8), 1024),
    "resnet101": (torchvision_network("resnet101"), (32, 128), None),
    "resnet152": (torchvision_network("resnet152"), (32, 128), None),
    "inception-v3": (torchvision_network("inception_v3"), (32, 128), None),
    "densenet121": (torchvision_network("densenet121"), (32, 128), None),
    "densenet201": (torchvision_network("densenet201"), (32, 128), None),
    "mobilenet-v2": (torchvision_network("mobilenet_v2"), (32, 128), None),
    "efficientnet-b0": (torchvision_network("efficientnet_b0"), (32, 128), None),
    "vit-b-16": (torchvision_network("vit_b_16"), (32, 128), None),
    "alexnet": (torchvision_network("alexnet"), (128, 256), None),
    "bert-large": (language_network("BertConfig", "BertForPreTraining", 30528, **BERT_LARGE),
                   (8, 32), 128),
    "bert-large, 512 tokens": (language_network("BertConfig", "BertForPreTraining", 30528,
                                                **BERT_LARGE), (8,), 512),
    "gpt2-xl": (language_network("GPT2Config", "GPT2LMHeadModel", 50257, n_embd=1600, n_layer=48,
                                 n_head=25, activation_function="gelu_pytorch_tanh"), (1, 2), 1024),
    "llama-2-7b": (language_network("LlamaConfig", "LlamaForCausalLM", 32000, **LLAMA_7B),
                   (1, 2), 2048),
}
def precisions(name):
    """Pairs of precision and memory format."""
    if name == "llama-2-7b":
        return [("bfloat16 weights", "contiguous")]
    if NETWORKS[name][2] or name.startswith("vit"):
        return [(p, "contiguous") for p in ("float32", "tf32", "bfloat16")]
    return [("float32", "contiguous"), ("tf32", "contiguous"), ("bfloat16", "channels-last")]


def make_optimizer(name, parameters):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-6, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=1e-6, capturable=True)


def replayed(step, seconds):
    """Median seconds of `step` as a CUDA graph, or why it cannot be one."""
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        graph.replay()
        torch.cuda.synchronize()
        laps = []
        start = time.perf_counter()
        while len(laps) < 3 or time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            graph.replay()
            torch.cuda.synchronize()
            laps.append(time.perf_counter() - begin)
        return {"graph_s": statistics.median(laps)}
    except RuntimeError as error:
        return {"graph_error": str(error).split("\n")[0]}


def measure(name, batch, precision, memory_format, optimizer_name, seconds):
    make, _, tokens = NETWORKS[name]
    is_tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = is_tf32
    torch.backends.cudnn.allow_tf32 = is_tf32
    torch.manual_seed(0)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()  # what graphs of earlier rows still hold
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16 if precision == "bfloat16 weights" else torch.float32)
        network, loss, to_channels_last = make(batch, tokens)
        torch.set_default_dtype(torch.float32)
    network.train()
    if memory_format == "channels-last":
        network.to(memory_format=torch.channels_last)
        to_channels_last()
    optimizer = make_optimizer(optimizer_name, network.parameters())
    laps = []

    def step(mark=lambda: None):
        mark()
        # Weights are cast anew in each step, so that a graph holds that, too.
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bfloat16",
                            cache_enabled=False):
            value = loss(network)
        mark()
        value.backward()
        mark()
        optimizer.step()
        mark()
        optimizer.zero_grad(set_to_none=True)

    def marked_step():
        events = []

        def mark():
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()

        step(mark)
        return events

    # As a graph's capture asks for it: the same stream for all of it, not the default one.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    torch.cuda.set_stream(stream)
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    walls = []
    start = time.perf_counter()
    while len(laps) < 3 or (time.perf_counter() - start < seconds and len(laps) < 100):
        # Several steps without a wait, as in training; the wall clock is divided by them.
        burst = 5
        begin = time.perf_counter()
        events = [marked_step() for _ in range(burst)]
        torch.cuda.synchronize()
        walls.append((time.perf_counter() - begin) / burst)
        laps += [[a.elapsed_time(b) * 1e-3 for a, b in zip(e, e[1:])] for e in events]
    middle = [statistics.median(column) for column in zip(*laps)]
    tensors = [p for p in network.parameters() if p.requires_grad]
    memory = torch.cuda.max_memory_allocated() - before
    return {"forward_s": middle[0], "backward_s": middle[1], "optimizer_s": middle[2],
            "step_s": statistics.median(walls), "steps": len(laps),
            "memory_B": memory, "tensors": len(tensors),
            "parameters": sum(p.numel() for p in tensors)} | replayed(step, seconds)


def main():
    parser = argparse.ArgumentParser(description="times training steps on one GPU")
    parser.add_argument("-o", "--output", help="default: standard output")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each row, after warming up")
    parser.add_argument("--for", dest="limit", type=float, default=3600, help="seconds in all")
    parser.add_argument("--only", help="networks, separated by commas")
    options = parser.parse_args()
    out = open(options.output, "w") if options.output else sys.stdout
    properties = torch.cuda.get_device_properties(0)
    print(json.dumps({"device": properties.name, "torch": torch.__version__,
                      "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                      "multiprocessors": properties.multi_processor_count,
                      "memory_B": properties.total_memory}), file=out, flush=True)
    begin = time.perf_counter()
    for name in options.only.split(",") if options.only else NETWORKS:
        for precision, memory_format in precisions(name):
            optimizer = "adamw" if NETWORKS[name][2] and name != "llama-2-7b" else "sgd"
            for batch in NETWORKS[name][1]:
                if time.perf_counter() - begin > options.limit:
                    return
                row = {"network": name, "batch": batch, "tokens": NETWORKS[name][2],
                       "precision": precision, "memory_format": memory_format,
                       "optimizer": optimizer}
                try:
                    row |= measure(name, batch, precision, memory_format, optimizer,
                                   options.seconds)
                except torch.cuda.OutOfMemoryError as error:
                    row["error"] = str(error).split(".")[0]
                print(json.dumps(row), file=out, flush=True)
                print(name, precision, memory_format, batch, row.get("step_s", "no memory"),
                      file=sys.stderr, flush=True)
                gc.collect()
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
