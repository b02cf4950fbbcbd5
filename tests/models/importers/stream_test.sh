#!/usr/bin/env bash
# A profiler's trace far larger than the memory that the import may have: 300 MB, 99 % of them calls of
# Python, in 200 MiB of address space. Cut short, it is refused. usage: stream_test.sh PROGRAM
set -euo pipefail
steptime=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

# Ten steps of 40 layers, each forward and backward one kernel, in microseconds; the rest is filler.
# shellcheck disable=SC2016
awk 'function event(cat, name, thread, start, length_, args) {
  printf "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{%s}},\n",
    cat, name, thread, start, length_, args
}
BEGIN {
  filler = sprintf("%4000s", ""); gsub(" ", "x", filler)
  print "{\"traceEvents\":["
  for (step = 1; step <= 10; ++step) {
    at = 10000 * step
    event("user_annotation", "ProfilerStep#" step, 1, at, 9000, "")
    for (k = 0; k < 80; ++k) {
      backward = k >= 40
      begin = at + 10 + 50 * k
      ++launch
      event("cpu_op", backward ? "LinearBackward0" : "aten::linear", backward ? 2 : 1, begin, 40,
        sprintf("\"Fwd thread id\":%d,\"Sequence number\":%d", backward, backward ? 80 - k : k + 1))
      event("cuda_runtime", "cudaLaunchKernel", backward ? 2 : 1, begin + 2, 1, "\"correlation\":" launch)
      event("kernel", "gemm", 7, begin + 10, backward ? 30 : 20, "\"correlation\":" launch)
      if (backward)
        event("cpu_op", "torch::autograd::AccumulateGrad", 2, begin + 42, 5, "\"Input Dims\":[[8,4]]")
      for (i = 0; i < 90; ++i)
        event("python_function", filler, 1, begin + 3, 30, "\"Python id\":" i)
    }
  }
  print "{\"ph\":\"i\",\"name\":\"end\",\"ts\":0}]}"
}' >"$scratch/trace.json"
(($(stat --format %s "$scratch/trace.json") > 290000000)) || fail "the trace is too small"

import() {
  (
    ulimit -v 204800
    "$steptime" import kineto "$1" --model m --device d --batch 1 --source s --date 2026-01-31 \
      --licence none -o "$scratch/out.json"
  )
}
import "$scratch/trace.json" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
# 40 layers of 20 us forward and 30 us backward.
[[ $(grep -c '"forward_s": *2e-05' "$scratch/out.json") == 40 && $(grep -c '"backward_s": *3e-05' "$scratch/out.json") == 40 ]] ||
  fail "the trace has other layers: $(head -c 2000 "$scratch/out.json")"

head -c 200000000 "$scratch/trace.json" >"$scratch/cut.json"
rm "$scratch/out.json"
status=0
import "$scratch/cut.json" 2>"$scratch/err" || status=$?
[[ $status == 2 && $(wc -l <"$scratch/err") == 1 && ! -e $scratch/out.json ]] ||
  fail "a trace cut short: $status, $(cat "$scratch/err")"
