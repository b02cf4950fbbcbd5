// Values of an experiment that are set from outside: by the command line, a sweep or a claim.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// The value at `pointer` of an experiment; null when the pointer names no place. An object on the
/// way that the experiment leaves out becomes what it defaults to, or what the preset has, so that
/// a key inside it can be set by itself.
Json* place_in_experiment(Json& experiment, const std::string& pointer);

/// Takes out what the experiment itself says at these pointers, whatever their order: what a preset
/// says stays, or a default. Nothing where it says nothing.
void take_out(Json& experiment, std::vector<std::string> pointers);
/// Whether it says something there.
bool is_stated(const Json& experiment, const std::string& pointer);

/// What is wrong with a pointer that names no place.
std::string no_place(const std::string& pointer);

/// One JSON pointer is the other, or lies in the other's subtree.
bool overlap(std::string_view a, std::string_view b);

/// A value as the command line gives it: JSON, or else text. Throws InputError.
Json set_value(const std::string& text, const std::string& context);

/// The file's JSON; `sets` are applied to it, each "/pointer=value" (value: JSON, or else text;
/// null takes out what the file has there, a key or an element of a list). Throws InputError.
std::shared_ptr<const Document> load_document(const std::string& path,
                                              std::span<const std::string> sets);
/// A document with `sets` applied to it.
std::shared_ptr<const Document> with_sets(std::shared_ptr<Document> document,
                                          std::span<const std::string> sets);

}  // namespace steptime
