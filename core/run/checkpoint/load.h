#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/nn/model.h"
#include "core/nn/optim/optimizer.h"
#include "core/parallel/step_runner.h"
#include "core/run/checkpoint/manifest.h"
#include "core/scenario/scenario.h"

namespace meshscope::run::checkpoint {

/// What a scenario must share with the checkpoint it resumes, so that the training that goes on is the
/// training that began: the model, the data and their order, the global batch, the dtype, the optimizer.
/// Mesh, strategy, learning rate and number of steps may differ. Cost: reads the data file for its checksum.
Identity identity_of(const scenario::Scenario& scenario);

/// What strategy state belongs to: the data strategy's word, "ddp", and in a pipeline "ddp, 4 stages".
std::string strategy_word(const scenario::Scenario& scenario);

/// A checkpoint that was read and found whole. Any rank of any mesh takes from it what it needs: the boxes it
/// wants are cut with the boxes that were saved, so every number arrives as it was, bit for bit.
///
/// Memory: the whole training state, once a process. Thread-safe once made.
class Checkpoint final : public parallel::InitialValues {
  public:
    /// Reads the checkpoint that `path` means (find_checkpoint) and holds it against the scenario's
    /// `identity` and the model: size and CRC-32C of each file, then names, shapes and boxes. Throws
    /// InputError ("checkpoint.…", naming the file; "checkpoint.nothing_left" when all steps are done),
    /// IoError ("checkpoint.cannot_read").
    Checkpoint(const std::string& path, const Identity& identity, const scenario::Scenario& scenario,
               const nn::Model& model);

    const Manifest& manifest() const { return manifest_; }
    const std::string& folder() const { return folder_; }

    /// A saved array, whole: "model.net1.weight", "optim.net1.weight.exp_avg". Throws InvalidArgument
    /// ("checkpoint.no_such_array").
    std::vector<float> whole(const std::string& name) const;

    void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const override;
    /// Puts the runner's memory and the optimizer's state in place, after the strategy loaded its
    /// parameters; slot i of the optimizer must be its local parameter i. Returns the steps done.
    int32_t restore(parallel::StepRunner& runner, nn::Optimizer& optimizer) const;

  private:
    void check_identity(const Identity& identity) const;
    void check_tensors(const nn::Model& model) const;
    void read_files();
    /// What of the saved array `name` belongs to `local` goes into `array`, shaped as the local parameter.
    void restore_array(const std::string& name, const parallel::LocalParameter& local,
                       const tensor::Tensor& array) const;
    void read_chunk(const SavedTensor& tensor, const Chunk& chunk, std::span<float> numbers) const;

    std::string folder_, manifest_path_;
    bool same_strategy_ = false;  ///< else what the saved one remembered means nothing here
    Manifest manifest_;
    std::map<std::string, const SavedTensor*> by_name_;
    std::vector<std::map<std::string, std::vector<float>>> files_;  ///< [file][key]
};

}  // namespace meshscope::run::checkpoint
