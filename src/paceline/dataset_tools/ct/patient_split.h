#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::dataset_tools {

enum class PatientSplit { kTrain, kVal, kTest };

inline constexpr std::array kPatientSplits{PatientSplit::kTrain, PatientSplit::kVal,
                                           PatientSplit::kTest};

/// "train", "val" or "test".
std::string_view name_of(PatientSplit split);

/// What stands for a patient in everything that is written: 16 hexadecimal digits. Who knows the
/// seed can look whether a patient is among the names, but reads no patient out of one.
std::string patient_code(std::string_view patient, std::uint64_t seed);

/// Tells seeds apart, and nothing else of them that trying them all would not.
std::string seed_mark(std::uint64_t seed);

/// 80 % of all patients are for training, 10 % for validation and 10 % for tests: a function of the
/// patient and the seed alone, so that new patients move nobody. Source: HMAC-SHA256, as
/// patient_code().
PatientSplit split_of_patient(std::string_view patient, std::uint64_t seed);

}  // namespace paceline::dataset_tools
