#include "paceline/checkpoint/manifest.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/json.h"
#include "paceline/checkpoint/format/dtypes.h"
#include "paceline/tensor/element_order.h"

#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

namespace paceline::checkpoint {
namespace {

using base::CheckpointError;
using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kFormatName = "paceline-checkpoint";

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

/// {"xxh3": "<16 digits>", on a line of its own before the rest of the object, which it covers.
std::string first_line(std::string_view rest) {
  return fmt::format("{{\"xxh3\": \"{}\",\n", hex(base::xxh3(rest)));
}

/// JSON has no NaN and no infinity; as text they survive.
OrderedJson number_to_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(fmt::format("{}", value));
}

double number_from_json(const OrderedJson& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

constexpr const char* kNumberKey = "$number";

/// A copy in which each number that JSON would turn into null is {"$number": "inf"}.
nlohmann::json with_named_numbers(nlohmann::json state) {
  if (state.is_structured()) {
    for (nlohmann::json& part : state) part = with_named_numbers(std::move(part));
  } else if (state.is_number_float() && !std::isfinite(state.get<double>())) {
    const std::string text = fmt::format("{}", state.get<double>());
    state = {{kNumberKey, text}};
  }
  return state;
}

/// What with_named_numbers() was given.
nlohmann::json with_plain_numbers(nlohmann::json state) {
  if (state.is_object() && state.size() == 1 && state.contains(kNumberKey))
    return std::stod(state[kNumberKey].get<std::string>());
  if (state.is_structured()) {
    for (nlohmann::json& part : state) part = with_plain_numbers(std::move(part));
  }
  return state;
}

OrderedJson to_json(const TensorRecord& tensor) {
  OrderedJson slices = OrderedJson::array();
  for (const SliceRecord& slice : tensor.slices) {
    slices.push_back({{"file", slice.file},
                      {"tensor", slice.tensor},
                      {"begin", slice.begin},
                      {"end", slice.end},
                      {"xxh3", hex(slice.checksum)}});
  }
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"order", tensor.order},
          {"slices", slices}};
}

OrderedJson to_json(const Environment& environment) {
  return {{"world_size", environment.world_size},
          {"threads_per_rank", environment.threads_per_rank},
          {"libtorch", environment.libtorch},
          {"instruction_set", environment.instruction_set},
          {"device", environment.device}};
}

std::uint64_t hex_from_json(const OrderedJson& value) {
  return std::stoull(value.get<std::string>(), nullptr, 16);
}

TensorRecord tensor_from_json(const OrderedJson& json) {
  TensorRecord tensor;
  json.at("name").get_to(tensor.name);
  json.at("dtype").get_to(tensor.dtype);
  json.at("shape").get_to(tensor.shape);
  json.at("order").get_to(tensor.order);
  for (const OrderedJson& slice : json.at("slices")) {
    tensor.slices.push_back({slice.at("file"), slice.at("tensor"), slice.at("begin"),
                             slice.at("end"), hex_from_json(slice.at("xxh3"))});
  }
  return tensor;
}

Manifest manifest_from_json(const OrderedJson& json) {
  Manifest manifest;
  json.at("step").get_to(manifest.step);
  const OrderedJson& environment = json.at("environment");
  manifest.environment = {environment.at("world_size"), environment.at("threads_per_rank"),
                          environment.at("libtorch"), environment.at("instruction_set"),
                          environment.at("device")};
  if (const OrderedJson& monitored = json.at("monitored"); !monitored.is_null()) {
    manifest.monitored = {monitored.at("name"), number_from_json(monitored.at("value"))};
  }
  for (const OrderedJson& file : json.at("files")) {
    const OrderedJson& checksum = file.at("header_xxh3");
    manifest.files.push_back(
        {file.at("name"), file.at("size"),
         checksum.is_null() ? std::nullopt : std::optional(hex_from_json(checksum))});
  }
  for (const OrderedJson& tensor : json.at("tensors"))
    manifest.tensors.push_back(tensor_from_json(tensor));
  json.at("inputs").get_to(manifest.inputs);
  json.at("class_names").get_to(manifest.class_names);
  if (const OrderedJson& surgery = json.at("surgery"); !surgery.is_null())
    manifest.surgery = surgery_from_json(surgery);
  json.at("standing_weights").get_to(manifest.standing_weights);
  manifest.state = with_plain_numbers(json.at("state"));
  json.at("config").get_to(manifest.config);
  return manifest;
}

/// Version 2 counts slices in any order of the dimensions, and has a checksum of each file's header
/// where version 1 had one of the whole file.
void migrate_to_2(OrderedJson& json) {
  for (OrderedJson& tensor : json.at("tensors")) tensor["order"] = OrderedJson::array();
  for (OrderedJson& file : json.at("files")) file["header_xxh3"] = nullptr;
}

/// Version 3 tells what the run was given.
void migrate_to_3(OrderedJson& json) { json["inputs"] = OrderedJson::object(); }

/// Version 4 names the classes.
void migrate_to_4(OrderedJson& json) { json["class_names"] = OrderedJson::array(); }

/// Version 5 tells what was done to the network.
void migrate_to_5(OrderedJson& json) { json["surgery"] = nullptr; }

/// Version 6 tells whose weights stand for the trained ones.
void migrate_to_6(OrderedJson& json) { json["standing_weights"] = ""; }

/// Brings the JSON of an older version to the present one, a version at a time.
OrderedJson migrate(OrderedJson json, int version, const std::filesystem::path& path) {
  if (version > kFormatVersion) {
    throw CheckpointError(
        fmt::format("{}: it has format version {} and this program reads up to {}: use the program "
                    "that wrote it, or a "
                    "newer one",
                    path.string(), version, kFormatVersion));
  }
  if (version < 1) {
    throw CheckpointError(fmt::format("{}: there is no format version {}", path.string(), version));
  }
  if (version < 2) migrate_to_2(json);
  if (version < 3) migrate_to_3(json);
  if (version < 4) migrate_to_4(json);
  if (version < 5) migrate_to_5(json);
  if (version < 6) migrate_to_6(json);
  return json;
}

std::string inconsistency(const TensorRecord& tensor, const std::set<std::string>& files) {
  const auto numel = checked_numel(tensor.shape);
  if (!numel || !dtype_from_name(tensor.dtype)) return "has an impossible shape or dtype";
  if (!tensor::is_order(tensor.order, tensor.shape.size())) return "has an impossible order";
  std::int64_t position = 0;
  for (const SliceRecord& slice : tensor.slices) {
    if (!files.contains(slice.file))
      return fmt::format("lies in the unknown file '{}'", slice.file);
    if (slice.begin != position || slice.end < slice.begin) {
      return fmt::format("has a slice from {} to {}, expected one from {}", slice.begin, slice.end,
                         position);
    }
    position = slice.end;
  }
  if (position != *numel) return fmt::format("has {} elements saved of {}", position, *numel);
  return {};
}

void check_consistent(const Manifest& manifest, const std::filesystem::path& path) {
  std::set<std::string> files;
  for (const FileRecord& file : manifest.files) {
    if (file.name.empty() || file.name.find('/') != std::string::npos ||
        !files.insert(file.name).second) {
      throw CheckpointError(fmt::format("{}: bad file name '{}'", path.string(), file.name));
    }
  }
  std::set<std::string> names;
  for (const TensorRecord& tensor : manifest.tensors) {
    const std::string problem =
        names.insert(tensor.name).second ? inconsistency(tensor, files) : "is listed twice";
    if (!problem.empty()) {
      throw CheckpointError(fmt::format("{}: tensor '{}' {}", path.string(), tensor.name, problem));
    }
  }
}

}  // namespace

std::string encode(const Manifest& manifest) {
  OrderedJson json = {{"format", kFormatName},
                      {"version", kFormatVersion},
                      {"step", manifest.step},
                      {"environment", to_json(manifest.environment)},
                      {"monitored", nullptr}};
  if (manifest.monitored) {
    json["monitored"] = {{"name", manifest.monitored->name},
                         {"value", number_to_json(manifest.monitored->value)}};
  }
  json["inputs"] = manifest.inputs;
  json["class_names"] = manifest.class_names;
  json["surgery"] = manifest.surgery ? surgery_to_json(*manifest.surgery) : OrderedJson(nullptr);
  json["standing_weights"] = manifest.standing_weights;
  json["state"] = with_named_numbers(manifest.state);
  json["config"] = manifest.config;
  json["files"] = OrderedJson::array();
  for (const FileRecord& file : manifest.files) {
    OrderedJson record = {{"name", file.name}, {"size", file.size}, {"header_xxh3", nullptr}};
    if (file.header_checksum) record["header_xxh3"] = hex(*file.header_checksum);
    json["files"].push_back(std::move(record));
  }
  json["tensors"] = OrderedJson::array();
  for (const TensorRecord& tensor : manifest.tensors) json["tensors"].push_back(to_json(tensor));
  const std::string rest = json.dump(1).substr(1) + "\n";  // without the opening brace
  return first_line(rest) + rest;
}

Manifest decode(std::string_view text, const std::filesystem::path& path) {
  const auto line_end = text.find('\n');
  const std::string_view rest = line_end == text.npos ? "" : text.substr(line_end + 1);
  if (line_end == text.npos || text.substr(0, line_end + 1) != first_line(rest)) {
    throw CheckpointError(
        fmt::format("{}: damaged: its checksum does not fit its text", path.string()));
  }
  try {
    OrderedJson json = base::parse_ordered_json(text);
    if (json.at("format") != kFormatName)
      throw CheckpointError(path.string() + ": not a checkpoint's");
    const int version = json.at("version").get<int>();
    json = migrate(std::move(json), version, path);
    Manifest manifest = manifest_from_json(json);
    manifest.version = version;
    check_consistent(manifest, path);
    return manifest;
  } catch (const base::JsonError& error) {
    throw CheckpointError(fmt::format("{}: damaged: {}", path.string(), error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw CheckpointError(
        fmt::format("{}: a field is missing or wrong: {}", path.string(), error.what()));
  } catch (const std::logic_error& error) {  // of stoull and stod
    throw CheckpointError(
        fmt::format("{}: a number is malformed: {}", path.string(), error.what()));
  }
}

}  // namespace paceline::checkpoint
