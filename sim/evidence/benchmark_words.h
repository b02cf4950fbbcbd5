// Words of what benchmarks print: numbers, units, names of operations.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// What spaces and tabs stand between. Points into the line.
std::vector<std::string_view> words_of(std::string_view line);

/// Whether the word is meant as a number, be it one that nothing here takes: 32768.5, 1e30.
bool looks_like_number(std::string_view word);

/// In lower case, of ASCII.
std::string lower(std::string_view text);

/// With a space in place of each "[12]".
std::string without_labels(std::string_view line);

/// Of the program's or the title's name, without what stands around it; of one that is not known
/// its letters.
std::string named_operation(std::string_view name);

/// Microseconds per unit of the time column of this name, as "time(ns)" or "latency_ms"; 0 when it
/// is none.
double time_unit(const std::string& name);

}  // namespace steptime
