#pragma once

#include "paceline/tensor/shared_code.h"

namespace paceline::tensor {

/// What keep_mask() gives element number `element` of a tensor with `per_sample` elements of each
/// sample, T an integer: 1 if its Philox::uniform() is below `keep`, else 0. `key` is the key of
/// the samples' streams.
PACELINE_CODE_AND_TEXT(
    kKeepElementCode,
    template <typename T> T keep_element(T element, long long per_sample, long long key,
                                         long long group, long long first_position, double keep) {
      const unsigned long long position =
          static_cast<unsigned long long>(first_position + element / per_sample);
      const unsigned long long draw = static_cast<unsigned long long>(element % per_sample);
      const unsigned long long bits = static_cast<unsigned long long>(key);
      unsigned int word0 = static_cast<unsigned int>(draw / 2);
      unsigned int word1 = static_cast<unsigned int>(group);
      unsigned int word2 = static_cast<unsigned int>(position);
      unsigned int word3 = (static_cast<unsigned int>(position >> 32) << 16) ^
                           static_cast<unsigned int>(static_cast<unsigned long long>(group) >> 32);
      unsigned int key0 = static_cast<unsigned int>(bits);
      unsigned int key1 = static_cast<unsigned int>(bits >> 32);
      for (int round = 0; round < 10; ++round) {
        const unsigned long long product0 = 0xD2511F53ull * word0;
        const unsigned long long product1 = 0xCD9E8D57ull * word2;
        word0 = static_cast<unsigned int>(product1 >> 32) ^ word1 ^ key0;
        word1 = static_cast<unsigned int>(product1);
        word2 = static_cast<unsigned int>(product0 >> 32) ^ word3 ^ key1;
        word3 = static_cast<unsigned int>(product0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
      }
      const unsigned long long high = draw % 2 == 0 ? word0 : word2;
      const unsigned long long low = draw % 2 == 0 ? word1 : word3;
      const double uniform = static_cast<double>((high << 32 | low) >> 11) * 0x1.0p-53;
      return uniform < keep ? 1 : 0;
    })

}  // namespace paceline::tensor
