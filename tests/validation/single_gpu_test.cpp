// Does a layer table on a calibrated device train as fast as published? Prints the error of every
// published single-GPU row.
#include "models/layer_table.h"
#include "models/roofline.h"
#include "sim/config/data_dir.h"
#include "sim/config/json.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const Json& published() {
  static const Json data = [] {
    const std::string file = STEPTIME_TESTS_DIR "/validation/single_gpu.json";
    return parse_json(read_file(file), file);
  }();
  return data;
}

Device device_named(const std::string& name) {
  return read_device((data_dir() / "models" / "devices" / (name + ".json")).string());
}

std::string trained_in(const Json& row) {
  return row.value("precision", "float32");
}

Optimizer optimizer_of(const Json& row) {
  const std::string name = row.value("optimizer", "sgd-momentum");
  if (name == "none") return {.name = name, .tensor_kernels = 0};
  return optimizer_named(name);
}

/// Samples per second of one worker that does nothing but compute.
double predicted(const Json& row) {
  const auto batch = row.at("batch").get<std::int64_t>();
  std::optional<std::int64_t> tokens;
  if (row.contains("tokens")) tokens = row.at("tokens").get<std::int64_t>();
  const Training training{.precision = trained_in(row),
                          .weight_bytes = row.value("weight_bytes", 4),
                          .optimizer = optimizer_of(row)};
  const Trace trace =
      roofline(read_layer_table(find_layer_table(row.at("model").get<std::string>()), tokens),
               device_named(row.at("device").get<std::string>()), batch, training);
  return static_cast<double>(batch) / to_seconds(trace.forward() + trace.backward());
}

TEST(SingleGpu, PublishedThroughputIsPredicted) {
  fmt::print("{:<41}{:<23}{:>12}{:>9}{:>6}{:>11}{:>11}{:>9}\n", "id", "model", "device",
             "precision", "batch", "published", "predicted", "error");
  const auto bound = published().at("validation_tolerance_pct").get<double>();
  // By device and precision; of the calibrated batch sizes, and of all: the sum of |error|, rows.
  std::map<std::pair<std::string, std::string>, ModelErrors> inside;
  std::map<std::pair<std::string, std::string>, std::pair<double, int>> validation;
  for (const Json& row : published().at("rows")) {
    const auto id = row.at("id").get<std::string>();
    const auto device = row.at("device").get<std::string>();
    const std::pair key(device, trained_in(row));
    const bool calibrated = row.at("calibrated_on").get<bool>();
    const double rate = predicted(row);
    const double error = (rate / row.at("published").get<double>() - 1) * 100;
    fmt::print("{:<41}{:<23}{:>12}{:>9}{:>6}{:>11.2f}{:>11.2f}{:>+8.1f}%{}\n", id,
               row.at("model").get<std::string>(), device, key.second, row.at("batch").get<int>(),
               row.at("published").get<double>(), rate, error,
               calibrated                      ? "  fitted"
               : row.contains("expected_miss") ? "  missed"
                                               : "");
    if (calibrated) {
      EXPECT_LE(std::abs(error), published().at("calibrated_tolerance_pct").at(device)) << id;
      continue;
    }
    validation[key].first += std::abs(error);
    ++validation[key].second;
    const Device found = device_named(device);
    if (const auto batch = row.at("batch").get<std::int64_t>();
        batch >= found.batch_from && batch <= found.batch_to) {
      ModelErrors& errors = inside[key];
      ++errors.rows;
      errors.typical_pct += std::abs(error);
      errors.worst_pct = std::max(errors.worst_pct, std::abs(error));
    }
    if (row.contains("expected_miss")) {
      EXPECT_GT(std::abs(error), bound) << id << " is no longer missed: remove \"expected_miss\"";
    } else {
      EXPECT_LE(std::abs(error), bound) << id;
    }
  }
  for (const auto& [key, errors] : inside) {
    SCOPED_TRACE(key.first + " " + key.second);
    const ModelErrors said = *device_named(key.first).precisions.at(key.second).validation;
    EXPECT_EQ(said.rows, errors.rows);
    EXPECT_NEAR(said.typical_pct, errors.typical_pct / static_cast<double>(errors.rows), .05);
    EXPECT_NEAR(said.worst_pct, errors.worst_pct, .05);
  }
  for (const auto& [key, sum] : validation) {
    fmt::print("{} {}: mean absolute error of the {} rows not fitted: {:.1f} %\n", key.first,
               key.second, sum.second, sum.first / sum.second);
  }
}

/// Without "weights", as in "bfloat16 weights".
std::string precision_of(const Json& row) {
  const auto precision = row.at("precision").get<std::string>();
  return precision.substr(0, precision.find(' '));
}

/// A row of traces/<device>/steps.jsonl as the roofline has it.
Trace step_of(const Json& row, const Device& device) {
  const auto network = row.at("network").get<std::string>();
  std::optional<std::int64_t> tokens;
  if (!row.at("tokens").is_null()) tokens = row.at("tokens").get<std::int64_t>();
  const std::string table = find_layer_table("torch/" + network.substr(0, network.find(',')));
  const Training training{
      .precision = precision_of(row),
      .weight_bytes = row.at("precision") == "bfloat16 weights" ? 2 : 4,
      .optimizer =
          optimizer_named(row.at("optimizer") == "sgd" ? "sgd-momentum-foreach" : "adamw-foreach")};
  return roofline(read_layer_table(table, tokens), device, row.at("batch").get<std::int64_t>(),
                  training);
}

// Steps that were measured on the GPU itself, without the host's part: the device file says how far
// the rows that are not fitted are off.
TEST(SingleGpu, MeasuredStepsArePredicted) {
  for (const std::string name : {"h100", "h200"}) {
    const Device device = device_named(name);
    std::ifstream file(data_dir() / "traces" / name / "steps.jsonl");
    std::map<std::string, ModelErrors> errors;  // by precision
    std::string line;
    std::getline(file, line);  // where the rows come from
    while (std::getline(file, line)) {
      const Json row = Json::parse(line);
      const Trace trace = step_of(row, device);
      const double predicted = to_seconds(trace.forward() + trace.backward());
      const double measured = row.at("graph_s").get<double>();
      const double error = (predicted / measured - 1) * 100;
      const bool calibrated = row.contains("calibrated_on");
      fmt::print("{} {:<24}{:<17}{:>4}{:>10.2f}{:>10.2f} ms{:>+8.1f}%{}\n", name,
                 row.at("network").get<std::string>(), row.at("precision").get<std::string>(),
                 row.at("batch").get<int>(), measured * 1e3, predicted * 1e3, error,
                 calibrated ? "  fitted" : "");
      if (calibrated) {
        EXPECT_LE(std::abs(error), 0.5) << line;  // 4 parameters for 4 rows: their rounding
        continue;
      }
      ModelErrors& of = errors[precision_of(row)];
      ++of.rows;
      of.typical_pct += std::abs(error);
      of.worst_pct = std::max(of.worst_pct, std::abs(error));
    }
    EXPECT_GE(errors.size(), 3U);
    for (auto& [precision, of] : errors) {
      of.typical_pct /= static_cast<double>(of.rows);
      fmt::print("{} {}: {} rows not fitted, typically {:.1f} % off, at most {:.1f} %\n", name,
                 precision, of.rows, of.typical_pct, of.worst_pct);
      const ModelErrors said = *device.precisions.at(precision).validation;
      EXPECT_EQ(said.rows, of.rows) << name << " " << precision;
      EXPECT_NEAR(said.typical_pct, of.typical_pct, .05) << name << " " << precision;
      EXPECT_NEAR(said.worst_pct, of.worst_pct, .05) << name << " " << precision;
    }
  }
}

}  // namespace
}  // namespace steptime
