// What a "workload" section says of the software that computes: the framework with its generation,
// and whose kernels its times are those of.
#pragma once
#include "sim/config/config.h"

#include <string>

namespace steptime {

/// "PyTorch 2", ...; `model`: the name of its table. Without "framework" the one whose layer table
/// it is, in the generation of today; of tables without a framework's name, "".
std::string framework_word(const Config& workload, const std::string& model);

/// "tuned", "fused", "eager" or "autocast". Without "kernels": of PyTorch the last for float16 and
/// bfloat16, else eager; of others tuned; of a transformer's shape what "operators" says. Throws
/// InputError.
std::string kernels_word(const Config& workload, const std::string& model);

/// The word of the first sign that `name` has in lower case; itself where it has none.
struct WordSign {
  const char* part;
  const char* word;
};
std::string word_of(const std::string& name, std::initializer_list<WordSign> signs);

}  // namespace steptime
