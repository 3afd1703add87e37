#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>

namespace paceline::data {

/// ILSVRC2012 (ImageNet-1k) in the forms in which it is published, read in place. Training images:
/// ILSVRC2012_img_train.tar with its tars of classes; a folder (ILSVRC2012_img_train, train or
/// `folder` itself) of these tars, nXXXXXXXX.tar; or folders of classes, as Kaggle's
/// ILSVRC/Data/CLS-LOC/train. Validation images: ILSVRC2012_img_val.tar; a folder of all of them,
/// as Kaggle's ILSVRC/Data/CLS-LOC/val; or one that is sorted into folders of classes.
///
/// `val_labels` names the file or folder of their labels (see read_validation_labels()), relative
/// to `folder` or absolute; empty: what find_validation_labels() finds. Labels are places in the
/// sorted WordNet ids of the training data, or of the labels where that is not there. Samples are
/// ordered by label, then name: as image_folder would have them if all were extracted.
///
/// Throws DataError that says what was looked for, or names what is damaged.
std::unique_ptr<Dataset> open_ilsvrc2012(
    const std::filesystem::path& folder, const std::filesystem::path& val_labels, bool is_training,
    const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
