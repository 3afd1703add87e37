#include "paceline/checkpoint/writer.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/agreement.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/rank_files.h"

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
  std::string report;
  on_all_ranks(communicator, not_saved(request),
               [&] { report = write_rank_file(request.shards, temporary, rank, files); });
  const std::vector<std::string> reports = communicator.all_gather_text(report);
  on_all_ranks(communicator, not_saved(request), [&] {
    if (rank == 0) commit_checkpoint(request, reports, files);
  });
  return target;
} catch (const base::CheckpointError& error) {
  fail_save(request, communicator.rank(), error, files);
} catch (const base::DivergedError& error) {
  fail_save(request, communicator.rank(), error, files);
}

}  // namespace paceline::checkpoint
