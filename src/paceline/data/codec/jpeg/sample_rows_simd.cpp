// sample_rows.h in vector code, exact: averages of bytes that round up or down take the place of
// wider sums, and the colours' factors have one bit less, which changes no result.
#include "paceline/data/codec/jpeg/sample_rows.h"

#include <cstddef>
#include <cstdint>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/codec/jpeg/sample_rows_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data::jpeg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Not wider than 256 bits, because 512 slow down the scalar code that they alternate with.
using Samples = hn::CappedTag<std::uint8_t, 32>;
using SampleVector = hn::Vec<Samples>;
using Numbers = hn::Repartition<std::int16_t, Samples>;
using NumberVector = hn::Vec<Numbers>;
using Sums = hn::Repartition<std::int32_t, Samples>;
constexpr auto kStep = static_cast<std::ptrdiff_t>(hn::MaxLanes(Samples()));
static_assert(kStep <= kRowPadding);

/// (a + b) / 2, rounded down.
HWY_INLINE SampleVector average_down(SampleVector a, SampleVector b) {
  const auto odd = hn::And(hn::Xor(a, b), hn::Set(Samples(), 1));
  return hn::Sub(hn::AverageRound(a, b), odd);
}

/// (3 * near + far) / 4; exact halves are rounded by `kRounding`.
template <Rounding kRounding>
HWY_INLINE SampleVector blend(SampleVector near, SampleVector far) {
  if constexpr (kRounding == Rounding::kUp) {
    return hn::AverageRound(near, average_down(near, far));
  } else {
    return average_down(near, hn::AverageRound(near, far));
  }
}

template <Rounding kRounding>
HWY_INLINE void blend_all(const std::uint8_t* near, const std::uint8_t* far, int count,
                          std::uint8_t* target) {
  const Samples d;
  for (std::ptrdiff_t i = 0; i < count; i += kStep) {
    hn::StoreU(blend<kRounding>(hn::LoadU(d, near + i), hn::LoadU(d, far + i)), d, target + i);
  }
}

void blend_rows_vectorised(const std::uint8_t* near, const std::uint8_t* far, int count,
                           Rounding rounding, std::uint8_t* target) {
  if (rounding == Rounding::kUp) {
    blend_all<Rounding::kUp>(near, far, count, target);
  } else {
    blend_all<Rounding::kDown>(near, far, count, target);
  }
}

void widen_row_vectorised(const std::uint8_t* samples, int count, std::uint8_t* target) {
  const Samples d;
  for (std::ptrdiff_t i = 0; i < count; i += kStep) {
    const auto here = hn::LoadU(d, samples + i);
    const auto left = blend<Rounding::kDown>(here, hn::LoadU(d, samples + i - 1));
    const auto right = blend<Rounding::kUp>(here, hn::LoadU(d, samples + i + 1));
    hn::StoreInterleaved2(left, right, d, target + 2 * i);
  }
}

/// Numbers at even and at odd places.
struct Halves {
  NumberVector even;
  NumberVector odd;
};

HWY_INLINE NumberVector even_samples(SampleVector v) {
  return hn::And(hn::BitCast(Numbers(), v), hn::Set(Numbers(), 0xFF));
}
HWY_INLINE NumberVector odd_samples(SampleVector v) {
  const hn::RebindToUnsigned<Numbers> d;
  return hn::BitCast(Numbers(), hn::ShiftRight<8>(hn::BitCast(d, v)));
}

HWY_INLINE NumberVector three_to_one(NumberVector near, NumberVector far) {
  return hn::Add(hn::Add(near, far), hn::Add(near, near));
}

/// Bytes from numbers in 0..255.
HWY_INLINE SampleVector to_sample_bytes(const Halves& numbers) {
  return hn::BitCast(Samples(), hn::Or(numbers.even, hn::ShiftLeft<8>(numbers.odd)));
}

template <int kBias>
HWY_INLINE SampleVector sixteenths(const Halves& near, const Halves& far) {
  const auto bias = hn::Set(Numbers(), kBias);
  return to_sample_bytes({hn::ShiftRight<4>(hn::Add(three_to_one(near.even, far.even), bias)),
                          hn::ShiftRight<4>(hn::Add(three_to_one(near.odd, far.odd), bias))});
}

void widen_blended_row_vectorised(const std::uint8_t* near, const std::uint8_t* far, int count,
                                  std::uint8_t* target) {
  const Samples d;
  for (std::ptrdiff_t i = 0; i < count; i += kStep) {
    const auto near_here = hn::LoadU(d, near + i);
    const auto far_here = hn::LoadU(d, far + i);
    const Halves here = {three_to_one(even_samples(near_here), even_samples(far_here)),
                         three_to_one(odd_samples(near_here), odd_samples(far_here))};
    // Sums one to the left at odd places are those here at even ones, and so on.
    const Halves left = {three_to_one(even_samples(hn::LoadU(d, near + i - 1)),
                                      even_samples(hn::LoadU(d, far + i - 1))),
                         here.even};
    const Halves right = {here.odd, three_to_one(odd_samples(hn::LoadU(d, near + i + 1)),
                                                 odd_samples(hn::LoadU(d, far + i + 1)))};
    hn::StoreInterleaved2(sixteenths<8>(here, left), sixteenths<7>(here, right), d, target + 2 * i);
  }
}

struct Colors {
  NumberVector red;
  NumberVector green;
  NumberVector blue;
};

/// `y` in 0..255, `cb` and `cr` in -128..127.
HWY_INLINE Colors convert(NumberVector y, NumberVector cb, NumberVector cr) {
  const Numbers d;
  const Sums wide;
  // Factors of 2^15. Those of red and blue have the part that is no integer only.
  constexpr int kRedByCr = 13173;
  constexpr int kBlueByCb = -7471;
  constexpr int kGreenByCb = -11277;
  constexpr int kGreenByCr = -23401;
  const auto limited = [&](NumberVector v) {
    return hn::Min(hn::Max(v, hn::Zero(d)), hn::Set(d, 255));
  };
  const auto red = hn::Add(cr, hn::MulFixedPoint15(cr, hn::Set(d, kRedByCr)));
  const auto blue = hn::Add(hn::Add(cb, cb), hn::MulFixedPoint15(cb, hn::Set(d, kBlueByCb)));
  const auto factors =
      hn::BitCast(d, hn::Set(wide, static_cast<std::int32_t>(
                                       (kGreenByCb & 0xFFFF) |
                                       static_cast<int>(static_cast<unsigned>(kGreenByCr) << 16))));
  const auto half = hn::Set(wide, 1 << 14);
  auto unused = hn::Zero(wide);
  const auto lower =
      hn::ReorderWidenMulAccumulate(wide, hn::InterleaveLower(d, cb, cr), factors, half, unused);
  const auto upper =
      hn::ReorderWidenMulAccumulate(wide, hn::InterleaveUpper(d, cb, cr), factors, half, unused);
  const auto green = hn::ReorderDemote2To(d, hn::ShiftRight<15>(lower), hn::ShiftRight<15>(upper));
  return {limited(hn::Add(y, red)), limited(hn::Add(y, green)), limited(hn::Add(y, blue))};
}

void convert_ycc_row_vectorised(const std::uint8_t* y, const std::uint8_t* cb,
                                const std::uint8_t* cr, int count, std::uint8_t* rgb) {
  const Samples d;
  const auto center = hn::Set(Numbers(), 128);
  for (std::ptrdiff_t i = 0; i < count; i += kStep) {
    const auto luma = hn::LoadU(d, y + i);
    const auto blue = hn::LoadU(d, cb + i);
    const auto red = hn::LoadU(d, cr + i);
    const Colors even = convert(even_samples(luma), hn::Sub(even_samples(blue), center),
                                hn::Sub(even_samples(red), center));
    const Colors odd = convert(odd_samples(luma), hn::Sub(odd_samples(blue), center),
                               hn::Sub(odd_samples(red), center));
    hn::StoreInterleaved3(to_sample_bytes({even.red, odd.red}),
                          to_sample_bytes({even.green, odd.green}),
                          to_sample_bytes({even.blue, odd.blue}), d, rgb + 3 * i);
  }
}

void convert_gray_row_vectorised(const std::uint8_t* y, int count, std::uint8_t* rgb) {
  const Samples d;
  for (std::ptrdiff_t i = 0; i < count; i += kStep) {
    const auto luma = hn::LoadU(d, y + i);
    hn::StoreInterleaved3(luma, luma, luma, d, rgb + 3 * i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data::jpeg {

HWY_EXPORT(blend_rows_vectorised);
HWY_EXPORT(widen_row_vectorised);
HWY_EXPORT(widen_blended_row_vectorised);
HWY_EXPORT(convert_ycc_row_vectorised);
HWY_EXPORT(convert_gray_row_vectorised);

void blend_rows(const std::uint8_t* near, const std::uint8_t* far, int count, Rounding rounding,
                std::uint8_t* target) {
  HWY_DYNAMIC_DISPATCH(blend_rows_vectorised)(near, far, count, rounding, target);
}

void widen_row(const std::uint8_t* samples, int count, std::uint8_t* target) {
  HWY_DYNAMIC_DISPATCH(widen_row_vectorised)(samples, count, target);
}

void widen_blended_row(const std::uint8_t* near, const std::uint8_t* far, int count,
                       std::uint8_t* target) {
  HWY_DYNAMIC_DISPATCH(widen_blended_row_vectorised)(near, far, count, target);
}

void convert_ycc_row(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                     int count, std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(convert_ycc_row_vectorised)(y, cb, cr, count, rgb);
}

void convert_gray_row(const std::uint8_t* y, int count, std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(convert_gray_row_vectorised)(y, count, rgb);
}

}  // namespace paceline::data::jpeg
#endif
