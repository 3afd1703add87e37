#pragma once

#include "paceline/loggers/crc32c.h"

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

namespace paceline::loggers {

/// What tests look at in an event.
struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string file_version;
  int session_status = 0;
  std::string tag;
  float scalar = 0;
  std::string plugin;
  std::string text;
  int height = 0;                              ///< of an image
  int width = 0;                               ///< likewise
  std::string png;                             ///< likewise
  std::map<std::string, std::string> hparams;  ///< "number 0.1", "bool 1", "string x"
};

struct EventFile {
  std::vector<Event> events;
  std::size_t end = 0;  ///< of the last whole record
};

inline std::string read_hparam_value(protozero::pbf_reader value) {
  std::string text;
  while (value.next()) {
    if (value.tag() == 2)
      text = fmt::format("number {}", value.get_double());
    else if (value.tag() == 3)
      text = "string " + value.get_string();
    else if (value.tag() == 4)
      text = fmt::format("bool {:d}", value.get_bool());
    else
      value.skip();
  }
  return text;
}

inline void read_hparams(protozero::pbf_reader plugin, Event& event) {
  while (plugin.next(3)) {
    protozero::pbf_reader session = plugin.get_message();
    while (session.next(1)) {
      protozero::pbf_reader entry = session.get_message();
      std::string key;
      while (entry.next()) {
        if (entry.tag() == 1)
          key = entry.get_string();
        else if (entry.tag() == 2)
          event.hparams[key] = read_hparam_value(entry.get_message());
        else
          entry.skip();
      }
    }
  }
}

inline void read_metadata(protozero::pbf_reader metadata, Event& event) {
  while (metadata.next(1)) {
    protozero::pbf_reader plugin = metadata.get_message();
    while (plugin.next()) {
      if (plugin.tag() == 1)
        event.plugin = plugin.get_string();
      else if (plugin.tag() == 2)
        read_hparams(plugin.get_message(), event);
      else
        plugin.skip();
    }
  }
}

inline void read_image(protozero::pbf_reader image, Event& event) {
  while (image.next()) {
    if (image.tag() == 1)
      event.height = image.get_int32();
    else if (image.tag() == 2)
      event.width = image.get_int32();
    else if (image.tag() == 4)
      event.png = image.get_string();
    else
      image.skip();
  }
}

inline void read_value(protozero::pbf_reader value, Event& event) {
  while (value.next()) {
    if (value.tag() == 1)
      event.tag = value.get_string();
    else if (value.tag() == 2)
      event.scalar = value.get_float();
    else if (value.tag() == 9)
      read_metadata(value.get_message(), event);
    else if (value.tag() == 4)
      read_image(value.get_message(), event);
    else if (value.tag() == 8) {
      protozero::pbf_reader tensor = value.get_message();
      while (tensor.next(8)) event.text = tensor.get_string();
    } else
      value.skip();
  }
}

inline Event read_event(protozero::pbf_reader reader) {
  Event event;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        event.wall_time = reader.get_double();
        break;
      case 2:
        event.step = reader.get_int64();
        break;
      case 3:
        event.file_version = reader.get_string();
        break;
      case 5: {
        protozero::pbf_reader summary = reader.get_message();
        while (summary.next(1)) read_value(summary.get_message(), event);
        break;
      }
      case 7: {
        protozero::pbf_reader session = reader.get_message();
        while (session.next(1)) event.session_status = session.get_enum();
        break;
      }
      default:
        reader.skip();
    }
  }
  return event;
}

/// The whole records of an event file, up to the first damaged or cut one.
inline EventFile read_events(std::string_view file) {
  EventFile result;
  while (file.size() >= result.end + 12) {
    const std::string_view head = file.substr(result.end, 12);
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    std::memcpy(&size, head.data(), 8);
    std::memcpy(&crc, head.data() + 8, 4);
    const std::size_t left = file.size() - result.end - 12;
    if (masked_crc32c(head.substr(0, 8)) != crc || left < 4 || size > left - 4) break;
    const std::string_view payload = file.substr(result.end + 12, size);
    std::memcpy(&crc, payload.data() + size, 4);
    if (masked_crc32c(payload) != crc) break;
    result.events.push_back(read_event(protozero::pbf_reader(payload.data(), payload.size())));
    result.end += 16 + size;
  }
  return result;
}

}  // namespace paceline::loggers
