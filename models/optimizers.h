// What an optimizer's step moves on a device, by the name of workload.optimizer.
//
// Scope: all parameters in the device's memory, in their gradients' type. Without the host's part.
// Source: "values" of kernels that read the gradient, the weight and the optimizer's state once and
// write weight and state once are counted. Those of PyTorch's default ("foreach": several kernels
// over all tensors, with results between them) follow from PyTorch 2.11 on an H100 and VGG-16's
// 138,357,544 parameters: 1.671, 3.755 and 4.164 ms at 2.67 TB/s (traces/h100/optimizers.jsonl).
// LAMB is Apex's FusedLAMB (NVIDIA/apex csrc/multi_tensor_lamb.cu), counted from its kernels.
// PyTorch's loops over tensors (foreach=False, and all before 1.9;
// torch/optim/{sgd,adam,adamw}.py), which transformers' AdamW equals but for the decay, and
// BertAdam (NVIDIA/DeepLearningExamples@ 78ec680 PyTorch/LanguageModeling/BERT/optimization.py),
// counted from their operations, a kernel each.
#pragma once
#include <string>
#include <vector>

namespace steptime {

struct Optimizer {
  std::string name;
  std::string help;
  double values = 0;       ///< read and written per parameter
  double state = 0;        ///< values kept per parameter, beside the weight
  int tensor_kernels = 1;  ///< launched for each tensor; 0: a few for all of them
  /// In mixed precision it keeps 2 B of each weight, which make one of 4 B together with those of
  /// products, in place of a copy of 4 B; and gradients of 2 B as they are.
  bool keeps_remainders = false;
};

/// Throws std::out_of_range for an unknown name.
const Optimizer& optimizer_named(const std::string& name);
std::vector<std::string> optimizer_names();

}  // namespace steptime
