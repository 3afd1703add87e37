#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// A run's own part of a store that strangers can reach. Keys and values are bound to the run's id:
/// whoever does not know it finds neither the keys of what has not been written yet nor the id in a
/// list of the keys, and what he writes is refused when it is read. Counters (add) are not covered,
/// nor is the store's life: who can reach it can still fill or empty it.
class RunStore final : public c10d::Store {
 public:
  static constexpr std::size_t kLongestValue = 1 << 20;  ///< bytes; ranks write far less

  RunStore(c10::intrusive_ptr<c10d::Store> store, std::string run_id);

  c10::intrusive_ptr<c10d::Store> clone() override;
  using Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  /// Throws CommError for a value that no rank of this run has written.
  std::vector<std::uint8_t> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  /// Throws CommError when one of the values was not written by a rank of this run.
  std::vector<std::vector<std::uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<std::uint8_t>>& values) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;
  const std::chrono::milliseconds& getTimeout() const noexcept override;
  void setTimeout(const std::chrono::milliseconds& timeout) override;
  /// Throws InternalError: a sealed value has an end.
  void append(const std::string& key, const std::vector<std::uint8_t>& value) override;
  /// Gloo asks for it before it gets many keys in one operation.
  bool hasExtendedApi() const override { return store_->hasExtendedApi(); }

 private:
  std::string name_of(const std::string& key) const;
  std::vector<std::string> names_of(const std::vector<std::string>& keys) const;
  std::string seal_of(const std::string& key, const std::vector<std::uint8_t>& value) const;
  std::vector<std::uint8_t> sealed(const std::string& key,
                                   const std::vector<std::uint8_t>& value) const;
  std::vector<std::uint8_t> opened(const std::string& key,
                                   const std::vector<std::uint8_t>& sealed) const;

  c10::intrusive_ptr<c10d::Store> store_;
  std::string run_id_;
};

}  // namespace paceline::comm
