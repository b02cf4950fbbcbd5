#include "sim/workload/software_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace steptime {
namespace {

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

}  // namespace

std::string word_of(const std::string& name, std::initializer_list<WordSign> signs) {
  const std::string low = lower(name);
  const auto* const found = std::find_if(signs.begin(), signs.end(), [&](const WordSign& sign) {
    return low.find(sign.part) != std::string::npos;
  });
  return found == signs.end() ? name : found->word;
}

std::string framework_word(const Config& workload, const std::string& model) {
  const auto slash = model.find('/');
  const std::string named = workload.has("framework")    ? workload.get<std::string>("framework")
                            : slash == std::string::npos ? ""
                                                         : model.substr(0, slash);
  return word_of(named, {{"pytorch-1", "PyTorch 1"},
                         {"torch", "PyTorch 2"},
                         {"tensorflow-2", "TensorFlow 2"},
                         {"tensorflow", "TensorFlow 1"},
                         {"tf", "TensorFlow 1"},
                         {"mxnet", "MXNet"},
                         {"caffe", "Caffe"}});
}

std::string kernels_word(const Config& workload, const std::string& model) {
  if (workload.has("kernels")) return workload.get<std::string>("kernels");
  if (workload.has("operators"))
    return workload.get<std::string>("operators") == "eager" ? "eager" : "tuned";
  if (!framework_word(workload, model).starts_with("PyTorch")) return "tuned";
  const auto precision =
      workload.get<std::string>(workload.has("precision") ? "precision" : "dtype");
  return precision == "float16" || precision == "bfloat16" ? "autocast" : "eager";
}

}  // namespace steptime
