#include "paceline/loggers/tensorboard_events.h"

#include "paceline/loggers/crc32c.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include <protozero/pbf_writer.hpp>

namespace paceline::loggers {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

constexpr int kDtFloat = 1;
constexpr int kDtString = 7;
constexpr int kDataClassTensor = 2;

template <typename T>
void append_little_endian(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

std::string metadata(std::string_view plugin, std::string_view content, int data_class) {
  std::string out;
  protozero::pbf_writer summary_metadata(out);
  {
    protozero::pbf_writer plugin_data(summary_metadata, 1);
    plugin_data.add_string(1, plugin.data(), plugin.size());
    if (!content.empty()) plugin_data.add_bytes(2, content.data(), content.size());
  }
  summary_metadata.add_enum(4, data_class);
  return out;
}

/// Event{wall_time, step, summary{value}}; `step` 0 is the default and not stored.
std::string summary_event(double wall_time, std::int64_t step, const std::string& value) {
  std::string out;
  protozero::pbf_writer event(out);
  event.add_double(1, wall_time);
  if (step != 0) event.add_int64(2, step);
  protozero::pbf_writer summary(event, 5);
  summary.add_message(1, value);
  return out;
}

/// google.protobuf.Value
std::string hparam_value(const std::string& text) {
  std::string out;
  protozero::pbf_writer value(out);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (text == "true" || text == "false") {
    value.add_bool(4, text == "true");
  } else if (parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(number)) {
    value.add_double(2, number);
  } else {
    value.add_string(3, text);
  }
  return out;
}

}  // namespace

std::string file_version_event(double wall_time) {
  std::string out;
  protozero::pbf_writer event(out);
  event.add_double(1, wall_time);
  event.add_string(3, "brain.Event:2");
  return out;
}

std::string session_start_event(double wall_time, std::int64_t step) {
  constexpr int kStart = 1;
  std::string out;
  protozero::pbf_writer event(out);
  event.add_double(1, wall_time);
  if (step != 0) event.add_int64(2, step);
  protozero::pbf_writer session_log(event, 7);
  session_log.add_enum(1, kStart);
  return out;
}

std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value) {
  std::string scalar;
  protozero::pbf_writer writer(scalar);
  writer.add_string(1, tag.data(), tag.size());
  writer.add_float(2, value);
  return summary_event(wall_time, step, scalar);
}

std::string text_event(double wall_time, std::int64_t step, std::string_view tag,
                       std::string_view text) {
  std::string tensor;
  protozero::pbf_writer tensor_writer(tensor);
  tensor_writer.add_enum(1, kDtString);
  {
    protozero::pbf_writer shape(tensor_writer, 2);
    protozero::pbf_writer dimension(shape, 2);
    dimension.add_int64(1, 1);
  }
  tensor_writer.add_bytes(8, text.data(), text.size());

  std::string value;
  protozero::pbf_writer writer(value);
  writer.add_string(1, std::string(tag) + "/text_summary");
  writer.add_message(8, tensor);
  writer.add_message(9, metadata("text", "", kDataClassTensor));
  return summary_event(wall_time, step, value);
}

std::string image_event(double wall_time, std::int64_t step, std::string_view tag,
                        const EncodedImage& image) {
  constexpr int kRgb = 3;
  std::string value;
  protozero::pbf_writer writer(value);
  writer.add_string(1, tag.data(), tag.size());
  {
    protozero::pbf_writer summary(writer, 4);
    summary.add_int32(1, image.height);
    summary.add_int32(2, image.width);
    summary.add_int32(3, kRgb);
    summary.add_bytes(4, image.png);
  }
  return summary_event(wall_time, step, value);
}

std::string hparams_start_event(double wall_time, std::string_view group_name,
                                std::span<const std::pair<std::string, std::string>> hparams) {
  std::string content;
  protozero::pbf_writer plugin(content);
  {
    protozero::pbf_writer session(plugin, 3);
    for (const auto& [key, text] : hparams) {
      protozero::pbf_writer entry(session, 1);
      entry.add_string(1, key);
      entry.add_message(2, hparam_value(text));
    }
    session.add_string(4, group_name.data(), group_name.size());
    session.add_double(5, wall_time);
  }
  std::string tensor;  // readers want one; its values are never looked at
  protozero::pbf_writer tensor_writer(tensor);
  tensor_writer.add_enum(1, kDtFloat);
  {
    protozero::pbf_writer shape(tensor_writer, 2);
    protozero::pbf_writer dimension(shape, 2);
    dimension.add_int64(1, 0);
  }
  std::string value;
  protozero::pbf_writer writer(value);
  writer.add_string(1, "_hparams_/session_start_info");
  writer.add_message(8, tensor);
  writer.add_message(9, metadata("hparams", content, kDataClassTensor));
  return summary_event(wall_time, 0, value);
}

void append_record(std::string& file, std::string_view event) {
  std::string length;
  append_little_endian(length, static_cast<std::uint64_t>(event.size()));
  file += length;
  append_little_endian(file, masked_crc32c(length));
  file += event;
  append_little_endian(file, masked_crc32c(event));
}

}  // namespace paceline::loggers
