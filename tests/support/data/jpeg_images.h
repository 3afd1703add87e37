#pragma once

#include "paceline/data/image/pixels.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <random>
#include <vector>

#include <jpeglib.h>

namespace paceline::data {

/// How to encode a picture.
struct JpegKind {
  int columns = 1;  ///< luma's sampling factors; those of chroma are 1
  int rows = 1;
  int quality = 90;
  bool is_gray = false;
  bool has_own_codes = false;  ///< Huffman codes made for this picture
  int restart_interval = 0;    ///< in MCUs

  friend std::ostream& operator<<(std::ostream& stream, const JpegKind& kind) {
    return stream << kind.columns << "x" << kind.rows << (kind.is_gray ? " gray" : "")
                  << " quality " << kind.quality << (kind.has_own_codes ? " own codes" : "")
                  << " restart " << kind.restart_interval;
  }
};

/// All samplings of the common kind, each with several qualities, codes and restart intervals.
inline std::vector<JpegKind> common_jpeg_kinds() {
  std::vector<JpegKind> kinds;
  for (const int quality : {20, 75, 96, 100}) {
    const bool is_odd = quality % 3 == 0;
    for (const int sampling : {0, 1, 2, 3, 4}) {
      kinds.push_back({.columns = sampling < 4 ? 1 + sampling % 2 : 1,
                       .rows = sampling < 4 ? 1 + sampling / 2 : 1,
                       .quality = quality,
                       .is_gray = sampling == 4,
                       .has_own_codes = is_odd,
                       .restart_interval = (quality + sampling) % 4});
    }
  }
  return kinds;
}

/// A JPEG file of smooth colours with noise and hard edges, so that blocks of all kinds occur.
inline std::vector<std::uint8_t> make_jpeg(ImageSize size, const JpegKind& kind, unsigned seed) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* bytes = nullptr;
  unsigned long num_bytes = 0;
  jpeg_mem_dest(&encoder, &bytes, &num_bytes);
  encoder.image_width = static_cast<JDIMENSION>(size.width);
  encoder.image_height = static_cast<JDIMENSION>(size.height);
  encoder.input_components = kind.is_gray ? 1 : 3;
  encoder.in_color_space = kind.is_gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, kind.quality, TRUE);
  encoder.comp_info[0].h_samp_factor = kind.columns;
  encoder.comp_info[0].v_samp_factor = kind.rows;
  encoder.optimize_coding = kind.has_own_codes ? TRUE : FALSE;
  encoder.restart_interval = static_cast<unsigned>(kind.restart_interval);
  jpeg_start_compress(&encoder, TRUE);
  std::mt19937 random(seed);
  const int tint = static_cast<int>(random() % 256);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(size.width * encoder.input_components));
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const bool is_noisy = (x / 24 + y / 24) % 3 == 1;
      const bool is_flat = (x / 24 + y / 24) % 3 == 2;
      for (int channel = 0; channel < encoder.input_components; ++channel) {
        const int smooth = is_flat ? tint : tint + 2 * x - 3 * y * (channel - 1);
        const int value = is_noisy ? static_cast<int>(random() % 256) : smooth;
        row[static_cast<std::size_t>(x * encoder.input_components + channel)] =
            static_cast<std::uint8_t>(std::clamp(value, 0, 255));
      }
    }
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&encoder, &pointer, 1);
  }
  jpeg_finish_compress(&encoder);
  std::vector<std::uint8_t> file(bytes, bytes + num_bytes);
  jpeg_destroy_compress(&encoder);
  std::free(bytes);
  return file;
}

}  // namespace paceline::data
