#include "paceline/dataset_tools/ct/patient_split.h"

#include "paceline/base/error.h"
#include "paceline/base/keyed_hash.h"

#include <charconv>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

constexpr std::size_t kDigits = 16;

std::string hash_of(std::string_view patient, std::uint64_t seed) {
  return base::hmac_sha256_hex(fmt::format("paceline ct {}", seed), patient);
}

}  // namespace

std::string_view name_of(PatientSplit split) {
  switch (split) {
    case PatientSplit::kTrain:
      return "train";
    case PatientSplit::kVal:
      return "val";
    case PatientSplit::kTest:
      return "test";
  }
  return "";
}

std::string patient_code(std::string_view patient, std::uint64_t seed) {
  return hash_of(patient, seed).substr(0, kDigits);
}

std::string seed_mark(std::uint64_t seed) {
  return patient_code("", seed);  // a code that no patient has
}

PatientSplit split_of_patient(std::string_view patient, std::uint64_t seed) {
  const std::string digits = hash_of(patient, seed).substr(kDigits, kDigits);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  PACELINE_CHECK(error == std::errc(), "a hash has the digits {}", digits);
  const std::uint64_t tenth = number % 10;
  if (tenth == 8) return PatientSplit::kVal;
  return tenth == 9 ? PatientSplit::kTest : PatientSplit::kTrain;
}

}  // namespace paceline::dataset_tools
