#include "paceline/data/dataset/field.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Field, KnowsItsBytes) {
  const std::array fields{
      FieldSpec{.name = "a", .type = FieldType::kInt64},
      FieldSpec{.name = "b", .type = FieldType::kFloat16, .sizes = {1, 4, 4, 4}},
      FieldSpec{.name = "c", .type = FieldType::kUInt8, .sizes = {3, 0}}};
  EXPECT_EQ(sample_bytes(fields[0]), 8u);
  EXPECT_EQ(sample_bytes(fields[1]), 128u);
  EXPECT_EQ(sample_bytes(fields[2]), 0u);
  EXPECT_EQ(sample_bytes(fields), 136u);
  EXPECT_EQ(bytes_of(FieldType::kInt32), 4u);
  EXPECT_EQ(bytes_of(FieldType::kFloat64), 8u);
}

TEST(Field, SizesFromAFileMayBeTooLarge) {
  const auto is_large = [](std::vector<std::int64_t> sizes) {
    return is_too_large({.name = "a", .type = FieldType::kInt16, .sizes = std::move(sizes)});
  };
  EXPECT_FALSE(is_large({}));
  EXPECT_FALSE(is_large({1 << 15, (1 << 16) - 1}));
  EXPECT_TRUE(is_large({1 << 15, 1 << 16}));
  EXPECT_TRUE(is_large({std::int64_t{1} << 33, std::int64_t{1} << 31})) << "whose product is 0";
}

TEST(Field, IsDescribedForPeople) {
  EXPECT_EQ(describe({.name = "volume", .type = FieldType::kFloat16, .sizes = {1, 4, 5}}),
            "volume float16 1 x 4 x 5");
  EXPECT_EQ(describe({.name = "dose", .type = FieldType::kInt32}), "dose int32");
}

TEST(Field, TypesHaveNumPysNames) {
  for (int i = 0; i < 7; ++i) {
    const auto type = static_cast<FieldType>(i);
    EXPECT_EQ(field_type_named(name_of(type)), type);
    EXPECT_EQ(is_integer(type), name_of(type).find("int") != std::string_view::npos);
  }
  EXPECT_FALSE(field_type_named("bool"));
}

template <class T, std::size_t N>
double number(FieldType type, const std::array<T, N>& values, std::size_t index) {
  return number_at(type, std::as_bytes(std::span(values)), index);
}

TEST(Field, ReadsNumbersOfAllTypes) {
  EXPECT_EQ(number(FieldType::kUInt8, std::array<std::uint8_t, 2>{1, 200}, 1), 200);
  EXPECT_EQ(number(FieldType::kInt16, std::array<std::int16_t, 2>{1, -1000}, 1), -1000);
  EXPECT_EQ(number(FieldType::kInt32, std::array<std::int32_t, 2>{1, -70'000}, 1), -70'000);
  EXPECT_EQ(number(FieldType::kInt64, std::array<std::int64_t, 2>{1, -5}, 1), -5);
  EXPECT_EQ(number(FieldType::kFloat32, std::array{1.0f, -0.5f}, 1), -0.5);
  EXPECT_EQ(number(FieldType::kFloat64, std::array{1.0, 0.1}, 1), 0.1);
}

TEST(Field, HalvesAreIeees) {
  const auto half = [](std::uint16_t bits) {
    return number(FieldType::kFloat16, std::array<std::uint16_t, 1>{bits}, 0);
  };
  EXPECT_EQ(half(0x3C00), 1);
  EXPECT_EQ(half(0xC500), -5);
  EXPECT_EQ(half(0x7BFF), 65504);
  EXPECT_EQ(half(0x0001), std::ldexp(1, -24));
  EXPECT_EQ(half(0xFC00), -INFINITY);
  EXPECT_TRUE(std::isnan(half(0x7E00)));
}

}  // namespace
}  // namespace paceline::data
