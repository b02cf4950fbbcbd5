// init: the example experiments, to start from.
#include "sim/command/verbs.h"
#include "sim/config/data_dir.h"
#include "sim/config/input_files.h"
#include "sim/config/json.h"
#include "sim/config/output_files.h"
#include "sim/config/words.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// The shipped examples by name, in alphabetical order. Their files name no other file by its path,
/// so that a copy runs in any folder.
std::vector<std::string> example_names() {
  std::vector<std::string> names;
  std::error_code error;
  const auto folder = data_dir() / "configs/examples";
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() == ".json") names.push_back(file->path().stem().string());
  }
  if (error)
    throw InputError(fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

std::string file_of(const std::string& name) {
  return (data_dir() / "configs/examples" / (name + ".json")).string();
}

/// What the example shows, in one sentence: the first of its description.
std::string first_sentence(const std::string& name) {
  const std::string file = file_of(name);
  const Json config = parse_json(text_at(file), file);
  const auto text = config.value("description", std::string());
  return text.substr(0, std::min(text.find(". "), text.find_last_not_of('.') + 1));
}

}  // namespace

Exit verb_init(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string path;
  po::options_description options("options");
  options.add_options()("output,o", po::value(&path),
                        "file to write; default: NAME.json in the current folder");
  const auto values = parse_arguments(verb, args, options, {"NAME?"}, terminal);
  if (!values) return Exit::kOk;
  const std::vector<std::string> names = example_names();
  if (!values->contains("NAME")) {
    if (!path.empty()) throw InputError("init: -o: expected NAME before it");
    for (const std::string& name : names)
      terminal.out << fmt::format("{:<18}{}\n", name, first_sentence(name));
    return Exit::kOk;
  }
  const auto name = (*values)["NAME"].as<std::string>();
  check_word("init: NAME", name, names);
  if (path.empty()) path = name + ".json";
  if (std::filesystem::exists(path)) {
    throw InputError(fmt::format("{}: is there already; expected a new file, such as -o my-{}.json",
                                 path, name));
  }
  write_file(path, text_at(file_of(name)));
  terminal.err << fmt::format("wrote {}; next: steptime run {}\n", path, path);
  return Exit::kOk;
}

}  // namespace steptime
