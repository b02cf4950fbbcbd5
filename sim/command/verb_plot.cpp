// plot: the figure of a sweep, or of several with a line for each, drawn by gnuplot.
#include "sim/command/output_kinds.h"
#include "sim/command/scratch_folder.h"
#include "sim/command/verbs.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/drawing/sweep_figure.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// gnuplot's terminal for files of this kind.
std::string terminal_of(const std::string& kind, const SweepFigure& figure) {
  if (kind == "svg") {
    return fmt::format(
        "set terminal svg size {}, {} font 'DejaVu Sans,14' linewidth 1.4 background "
        "rgb 'white'\n",
        static_cast<int>(800 * figure.width), static_cast<int>(533 * figure.height));
  }
  if (kind == "png") {
    return fmt::format(
        "set terminal pngcairo size {}, {} font 'DejaVu Sans,17' linewidth 1.8 "
        "background rgb 'white'\n",
        static_cast<int>(1200 * figure.width), static_cast<int>(800 * figure.height));
  }
  return fmt::format(
      "set terminal pdfcairo size {} cm, {} cm font 'DejaVu Sans,12' linewidth 1.4\n",
      20 * figure.width, 13.3 * figure.height);
}

/// What gnuplot draws, as the bytes of a file.
std::string drawn(const SweepFigure& figure, const std::string& kind) {
  const ScratchFolder folder;
  const std::string script = (folder.path() / "commands").string();
  const std::string picture = (folder.path() / "picture").string();
  write_file(script, terminal_of(kind, figure) + fmt::format("set output '{}'\n", picture) +
                         figure.commands + "unset output\n");
  const std::string messages = (folder.path() / "messages").string();
  const std::string command = fmt::format("gnuplot '{}' 2> '{}'", script, messages);
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw MissingError("gnuplot is not installed: apt-get install gnuplot-nox");
  if (status != 0) {
    throw MissingError(fmt::format("gnuplot cannot draw this, with its cairo terminals: {}",
                                   one_line(read_file(messages).substr(0, 300))));
  }
  return read_file(picture);
}

/// A picture with the mark at its end: a comment, or of PNG a chunk in front of its last one.
std::string marked(const std::string& kind, std::string picture) {
  if (kind == "svg") return fmt::format("{}<!-- {} -->\n", picture, kFigureMark);
  if (kind == "pdf") return fmt::format("{}% {}\n", picture, kFigureMark);
  constexpr std::size_t kLastChunk = 12;
  const auto big_endian = [](std::uint32_t number) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0})
      bytes += static_cast<char>(number >> shift & 0xff);
    return bytes;
  };
  const std::string type = "tEXt";
  const std::string text = fmt::format("Software{}{}", '\0', kFigureMark);
  const std::string chunk = big_endian(static_cast<std::uint32_t>(text.size())) + type + text +
                            big_endian(crc32_of(type + text));
  if (picture.size() >= kLastChunk) picture.insert(picture.size() - kLastChunk, chunk);
  return picture;
}

}  // namespace

Exit verb_plot(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string path;
  std::vector<std::string> where;
  FigureRequest request;
  po::options_description options("options");
  options.add_options()("output,o", po::value(&path)->required(),
                        "file to write: NAME.svg, NAME.png or NAME.pdf")(
      "key", po::value(&request.key),
      "the result to show, as steptime list result names it; default: speedup over nodes and "
      "schedules, else step_time_s")("where", po::value(&where)->composing(),
                                     "/pointer=value: only the points that have this value")(
      "title", po::value(&request.title), "above the figure; default: the name of a single file");
  const auto values = parse_arguments(verb, args, options, {"RESULTS*"}, terminal);
  if (!values) return Exit::kOk;
  if (!values->contains("RESULTS"))
    throw InputError("plot: expected RESULTS; see steptime plot --help");
  const auto files = (*values)["RESULTS"].as<std::vector<std::string>>();
  const auto dot = path.rfind('.');
  const std::vector<std::string> kinds{"svg", "png", "pdf"};
  const std::string kind = dot == std::string::npos ? "" : path.substr(dot + 1);
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    throw InputError(
        fmt::format("--output: expected a name that ends in .svg, .png or .pdf, got \"{}\"", path));
  }
  for (const std::string& each : where) {
    const auto equals = each.find('=');
    if (equals == std::string::npos)
      throw InputError(fmt::format("--where {}: expected /pointer=value", each));
    request.where.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  if (request.title.empty() && files.size() == 1)
    request.title = std::filesystem::path(files.front()).stem().string();
  const OutputKind& output = kind == "svg" ? kSvg : kind == "png" ? kPng : kPdf;
  check_output(path, output);
  std::vector<ResultRow> rows;
  for (auto file = files.begin(); file != files.end(); ++file) {
    if (std::find(files.begin(), file, *file) != file)
      throw InputError(fmt::format("{}: is named twice", *file));
    for (ResultRow& row : read_results(*file))
      rows.push_back(std::move(row));
  }
  SweepFigure figure;
  try {
    figure = sweep_figure(rows, request);
  } catch (const InputError& e) {
    if (files.size() > 1) throw;
    throw InputError(fmt::format("{}: {}", files.front(), e.what()));
  }
  write_file(path, marked(kind, drawn(figure, kind)), output);
  if (!figure.left_out.empty()) terminal.err << figure.left_out << "\n";
  terminal.err << fmt::format("wrote {}: {} point{}\n", path, figure.points,
                              figure.points == 1 ? "" : "s");
  return Exit::kOk;
}

}  // namespace steptime
