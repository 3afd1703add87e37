#include "paceline/checkpoint/async_writer.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/agreement.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/rank_files.h"
#include "paceline/comm/agreement.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using base::CheckpointError;
using std::chrono::steady_clock;

constexpr auto kPollInterval = std::chrono::milliseconds(5);
/// What a dying run grants the other ranks, which write at the same time and as much.
constexpr auto kGrace = std::chrono::seconds(5);

}  // namespace

AsyncWriter::AsyncWriter(base::FileSystem& files,
                         std::function<void(const fs::path& checkpoint)> after_commit)
    : files_(files), after_commit_(std::move(after_commit)) {}

AsyncWriter::~AsyncWriter() {
  if (!request_ || !done_.valid()) return;
  if (own_part_done_.valid()) own_part_done_.wait();
  wait_until(steady_clock::now() + kGrace);
  try {
    done_.get();
  } catch (const std::exception& error) {
    base::log_error("{}: {}", not_saved(*request_), error.what());
  }
}

void AsyncWriter::reserve(std::span<const tensor::StateShard> shards, tensor::Device& device) {
  done_ = std::async(std::launch::async,
                     [this, &device, copies = std::vector(shards.begin(), shards.end())] {
                       snapshot_.reserve(copies, device);
                     });
}

void AsyncWriter::start(const SaveRequest& request, comm::Communicator& communicator,
                        tensor::Device& device) {
  finish(communicator);
  if (done_.valid()) done_.wait();  // for reserve()
  const int rank = communicator.rank();
  try {
    on_all_ranks(communicator, not_saved(request), [&] {
      shards_ = snapshot_.take(request.shards, device);
      if (rank == 0) make_empty_directory(files_, temporary_of(target_of(request)));
    });
  } catch (const CheckpointError& error) {
    fail_save(request, communicator, error, files_);
  }
  request_ = request;
  request_->shards = shards_;
  has_failed_ = false;
  deadline_ = steady_clock::time_point::max();
  other_writers_ = ranks_that_write(shards_, communicator);
  std::erase(other_writers_, 0);
  own_part_ = {};
  own_part_done_ = own_part_.get_future();
  done_ = std::async(std::launch::async, &AsyncWriter::run, this, rank);
}

void AsyncWriter::finish(comm::Communicator& communicator) {
  if (!request_) return;
  try {
    on_all_ranks(communicator, not_saved(*request_), [&] { own_part_done_.get(); });
    on_all_ranks(communicator, not_saved(*request_), [&] { done_.get(); });
    request_.reset();
  } catch (const CheckpointError& error) {
    fail(error, communicator);
  } catch (const base::DivergedError& error) {
    fail(error, communicator);
  }
}

void AsyncWriter::fail(const base::Error& problem, comm::Communicator& communicator) {
  wait_until(steady_clock::now());
  if (done_.valid()) done_.wait();
  has_failed_ = false;
  fail_save(*std::exchange(request_, std::nullopt), communicator, problem, files_);
}

void AsyncWriter::throw_if_failed(comm::Communicator& communicator) {
  if (comm::any_rank(communicator, has_failed_)) finish(communicator);
}

void AsyncWriter::wait_until(steady_clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  deadline_ = deadline;
  changed_.notify_all();
}

// The thread.

void AsyncWriter::run(int rank) {
  try {
    write_own_part(rank);
    own_part_.set_value();
  } catch (...) {
    has_failed_ = true;
    own_part_.set_exception(std::current_exception());
    return;
  }
  if (rank != 0) return;
  try {
    commit();
  } catch (...) {
    has_failed_ = true;
    throw;
  }
}

void AsyncWriter::write_own_part(int rank) {
  own_report_ = write_rank_file(shards_, temporary_of(target_of(*request_)), rank, files_);
  if (std::ranges::find(other_writers_, rank) == other_writers_.end()) return;
  leave_report(*request_, rank, own_report_, files_);
}

void AsyncWriter::commit() {
  std::vector<std::string> reports{own_report_};
  for (const int rank : other_writers_) reports.push_back(report_of(rank));
  remove_reports(*request_, other_writers_, files_);
  commit_checkpoint(*request_, reports, files_);
  after_commit_(target_of(*request_));
}

std::string AsyncWriter::report_of(int rank) {
  const fs::path done = report_file(*request_, rank);
  std::unique_lock lock(mutex_);
  while (!base::file_exists(done)) {
    if (steady_clock::now() >= deadline_) {
      throw CheckpointError(fmt::format("rank {} did not write its part", rank));
    }
    changed_.wait_for(lock, kPollInterval);
  }
  return base::read_file(done);
}

}  // namespace paceline::checkpoint
