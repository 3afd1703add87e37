#include "paceline/checkpoint/writer.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/agreement.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/rank_files.h"

#include <algorithm>
#include <string>
#include <vector>

namespace paceline::checkpoint {

namespace fs = std::filesystem;

fs::path save_checkpoint(const SaveRequest& request, comm::Communicator& communicator,
                         base::FileSystem& files) try {
  const int rank = communicator.rank();
  const fs::path target = target_of(request);
  const fs::path temporary = temporary_of(target);
  on_all_ranks(communicator, not_saved(request), [&] {
    if (rank == 0) make_empty_directory(files, temporary);
  });
  std::vector<int> others = ranks_that_write(request.shards, communicator);
  std::erase(others, 0);
  std::vector<std::string> reports;
  on_all_ranks(communicator, not_saved(request), [&] {
    reports.push_back(write_rank_file(request.shards, temporary, rank, files));
    if (std::ranges::find(others, rank) != others.end())
      leave_report(request, rank, reports.front(), files);
  });
  on_all_ranks(communicator, not_saved(request), [&] {
    if (rank != 0) return;
    for (const int other : others) reports.push_back(base::read_file(report_file(request, other)));
    remove_reports(request, others, files);
    commit_checkpoint(request, reports, files);
  });
  return target;
} catch (const base::CheckpointError& error) {
  fail_save(request, communicator, error, files);
} catch (const base::DivergedError& error) {
  fail_save(request, communicator, error, files);
}

}  // namespace paceline::checkpoint
