#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace paceline::loggers {

/// TensorBoard's event messages, serialized as protocol buffers. Field numbers:
/// tensorflow/core/util/event.proto, framework/summary.proto,
/// tensorboard/plugins/hparams/plugin_data.proto. `wall_time` is in seconds since the Unix epoch
/// and must not be NaN.

/// The first record of every file.
std::string file_version_event(double wall_time);
/// Readers drop what earlier files hold at `step` and later. Belongs at the start of every file.
std::string session_start_event(double wall_time, std::int64_t step);
std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value);
/// `text` is Markdown; as PyTorch's writer does, "/text_summary" is added to the tag.
std::string text_event(double wall_time, std::int64_t step, std::string_view tag,
                       std::string_view text);
struct EncodedImage {
  int width = 0;
  int height = 0;
  std::string png;  ///< 8-bit RGB
};
std::string image_event(double wall_time, std::int64_t step, std::string_view tag,
                        const EncodedImage& image);
/// The run's row in the hparams table. Values that read as numbers or as true/false become such.
std::string hparams_start_event(double wall_time, std::string_view group_name,
                                std::span<const std::pair<std::string, std::string>> hparams);

/// One record of an event file: length, its CRC, the event, its CRC.
void append_record(std::string& file, std::string_view event);

}  // namespace paceline::loggers
