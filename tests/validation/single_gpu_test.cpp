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

/// Images per second of one worker that does nothing but compute.
double predicted(const Json& row) {
  const auto device = row.at("device").get<std::string>();
  const auto batch = row.at("batch").get<std::int64_t>();
  const Trace trace =
      roofline(read_layer_table(find_layer_table(row.at("model").get<std::string>())),
               device_named(device), batch, {});
  return static_cast<double>(batch) / to_seconds(trace.forward() + trace.backward());
}

TEST(SingleGpu, PublishedThroughputIsPredicted) {
  fmt::print("{:<32}{:<21}{:>6}{:>7}{:>11}{:>11}{:>9}\n", "id", "model", "device", "batch",
             "published", "predicted", "error");
  const auto bound = published().at("validation_tolerance_pct").get<double>();
  std::map<std::string, std::pair<double, int>> validation;  // sum of |error|, rows; by device
  std::map<std::string, ModelErrors> inside;                 // of the calibrated batch sizes
  for (const Json& row : published().at("rows")) {
    const auto id = row.at("id").get<std::string>();
    const auto device = row.at("device").get<std::string>();
    const bool calibrated = row.at("calibrated_on").get<bool>();
    const double rate = predicted(row);
    const double error = (rate / row.at("published").get<double>() - 1) * 100;
    fmt::print("{:<32}{:<21}{:>6}{:>7}{:>11.2f}{:>11.2f}{:>+8.1f}%{}\n", id,
               row.at("model").get<std::string>(), device, row.at("batch").get<int>(),
               row.at("published").get<double>(), rate, error,
               calibrated                      ? "  fitted"
               : row.contains("expected_miss") ? "  missed"
                                               : "");
    if (calibrated) {
      EXPECT_LE(std::abs(error), published().at("calibrated_tolerance_pct").at(device)) << id;
      continue;
    }
    validation[device].first += std::abs(error);
    ++validation[device].second;
    const Device found = device_named(device);
    if (const auto batch = row.at("batch").get<std::int64_t>();
        batch >= found.batch_from && batch <= found.batch_to) {
      ModelErrors& errors = inside[device];
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
  for (const auto& [device, errors] : inside) {
    const ModelErrors said = *device_named(device).precisions.at("float32").validation;
    EXPECT_EQ(said.rows, errors.rows) << device;
    EXPECT_NEAR(said.typical_pct, errors.typical_pct / static_cast<double>(errors.rows), .05)
        << device;
    EXPECT_NEAR(said.worst_pct, errors.worst_pct, .05) << device;
  }
  for (const auto& [device, sum] : validation) {
    fmt::print("{}: mean absolute error of the {} rows not fitted: {:.1f} %\n", device, sum.second,
               sum.first / sum.second);
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
