// Imports of text, as if it stood in the file "x.log".
#pragma once
#include "sim/core/error.h"
#include "sim/workload/importer.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>
#include <string_view>

namespace steptime {

inline ImportRequest request_of(const std::string& text, const std::string& layer_table = "") {
  return {.file = "x.log",
          .text = text,
          .model = "net",
          .device = "gpu",
          .batch = 32,
          .layer_table = layer_table,
          .provenance = Json{{"source", "a test"}, {"date", "2026"}, {"licence", "none"}}};
}

/// `importer`: {"type": ..., parameters}.
inline Trace import_text(std::string_view importer, const std::string& text,
                         const std::string& layer_table = "") {
  return make<Importer>(importer)->import(request_of(text, layer_table)).trace.value();
}

/// What the importer says about a text that it refuses.
inline std::string import_error(std::string_view importer, const std::string& text,
                                const std::string& layer_table = "") {
  return message_of<InputError>([&] { import_text(importer, text, layer_table); });
}

/// Every text that `text` becomes by losing its tail, or by having one byte replaced by one of a
/// few nasty ones, is imported or refused as bad input, on one line. Returns "" or the first that
/// is not.
inline std::string first_mishandled(std::string_view importer, const std::string& text,
                                    const std::string& layer_table = "") {
  const auto is_handled = [&](const std::string& damaged) {
    try {
      write_trace(import_text(importer, damaged, layer_table));
    } catch (const InputError& e) {
      const std::string_view message = e.what();
      return message.starts_with("x.log: ") && message.find('\n') == std::string_view::npos;
    } catch (...) {
      return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_handled(text.substr(0, i))) return text.substr(0, i);
    for (const char c : {'\0', '\n', '\t', ',', '"', '[', ']', '-', '9', 'e', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      if (!is_handled(damaged)) return damaged;
    }
  }
  return "";
}

}  // namespace steptime
