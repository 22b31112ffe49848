#include "core/run/checkpoint/load.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/data/safetensors.h"
#include "core/parallel/declaration.h"
#include "core/parallel/model_declaration.h"
#include "core/parallel/tensor/placement.h"
#include "core/run/checkpoint/folder.h"
#include "core/tensor/host_access.h"

namespace meshscope::run::checkpoint {
namespace {

namespace fs = std::filesystem;

const std::string* find(const Identity& identity, const std::string& key) {
    const auto found = std::ranges::find(identity, key, &Identity::value_type::first);
    return found == identity.end() ? nullptr : &found->second;
}

constexpr const char* kAbsent = "-";

/// A key of which a checkpoint and a scenario say something else.
struct Difference {
    std::string key, saved, wanted;
};

/// Whether a key is there on one side only because another one of its table differs, which says what keys
/// there are: that is told, and this is the same.
bool follows(const Difference& difference, const std::vector<Difference>& all) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDecide{
        {{"model.kind", "model."},
         {"data.file", "data."},
         {"data.sampler", "data."},
         {"optimizer.kind", "optimizer."}}};
    if (difference.saved != kAbsent && difference.wanted != kAbsent) return false;
    return std::ranges::any_of(kDecide, [&](const auto& decides) {
        return difference.key.starts_with(decides.second) && difference.key != decides.first &&
               difference.key != "data.file" &&
               std::ranges::find(all, decides.first, &Difference::key) != all.end();
    });
}

/// A file by its content, wherever it lies.
std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    Crc32c crc;
    int64_t bytes = 0;
    std::vector<char> block(1 << 20);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
        crc.add(block.data(), static_cast<std::size_t>(in.gcount()));
        bytes += in.gcount();
    }
    return std::to_string(bytes) + " bytes, crc32c " + std::to_string(crc.value());
}

}  // namespace

Identity identity_of(const scenario::Scenario& scenario) {
    Identity identity{{"model.kind", scenario.model.kind}};
    const auto add = [&](const char* key, int64_t value) {
        identity.emplace_back(key, std::to_string(value));
    };
    // As the file has them, so that no key of a model to come is forgotten here.
    for (const auto& [key, value] : scenario::entries(scenario, "model"))
        if (key != "kind" && key != "seed" && key != "weights") identity.emplace_back("model." + key, value);
    if (!scenario.model_config.empty())
        identity.emplace_back("model.config", content_of(scenario.model_config));
    const nn::ModelSpec& model = scenario.model;
    if (!model.full_attention.empty())  // entries() has no lists and no tables
        identity.emplace_back("model.full_attention", joined_numbers(model.full_attention));
    if (!model.lora_targets.empty()) identity.emplace_back("model.lora_targets", joined(model.lora_targets));
    if (const tensor::RopeScaling& scaling = model.rope_scaling;
        scaling.kind != tensor::RopeScaling::Kind::none)
        identity.emplace_back("model.rope_scaling", std::to_string(static_cast<int>(scaling.kind)) + ", " +
                                                        std::to_string(scaling.factor) + ", " +
                                                        std::to_string(scaling.low_freq_factor) + ", " +
                                                        std::to_string(scaling.high_freq_factor) + ", " +
                                                        std::to_string(scaling.original_tokens));
    if (!scenario.data_file.empty()) {
        identity.emplace_back("data.file", content_of(scenario.data_file));
    } else {
        identity.emplace_back("data.kind", scenario.data_kind);
        add("data.samples", scenario.data_samples);
        identity.emplace_back("data.seed", std::to_string(scenario.data_seed));
        if (scenario.data_sampler) {
            identity.emplace_back("data.sampler", "distributed");
            identity.emplace_back("data.shuffle", scenario.data_shuffle ? "true" : "false");
            identity.emplace_back("data.drop_last", scenario.data_drop_last ? "true" : "false");
        }
    }
    if (scenario.ignore_index) {
        add("data.ignore_index", *scenario.ignore_index);
        identity.emplace_back("data.lengths", joined_numbers(scenario.data_lengths));
        const bool tokens = scenario.parallel.loss_mean == parallel::LossMean::tokens;
        identity.emplace_back("train.loss_mean", tokens ? "tokens" : "microbatches");
    }
    add("train.global_batch", scenario.global_batch);
    // A float32 training says nothing, as in the checkpoints from before there was another.
    if (scenario.parallel.precision.stored != DType::float32)
        identity.emplace_back("train.dtype", name(scenario.parallel.precision.stored));
    identity.emplace_back("optimizer.kind", scenario.optimizer.kind);
    if (scenario.optimizer.kind == "sgd")
        identity.emplace_back("optimizer.momentum", scenario.optimizer.momentum == 0.0 ? "none" : "some");
    return identity;
}

std::string strategy_word(const scenario::Scenario& scenario) {
    const parallel::Declaration& strategy = parallel::declaration(scenario.parallel.data);
    std::string word(strategy.word);
    if (strategy.state_word != nullptr)
        word += ", " + strategy.state_word(scenario.parallel, scenario::data_parallel_size(scenario));
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations())
        if (each->state_word != nullptr) word += each->state_word(scenario.parallel);
    return word;
}

Checkpoint::Checkpoint(const std::string& path, const Identity& identity, const scenario::Scenario& scenario,
                       const nn::Model& model)
    : folder_(find_checkpoint(path)), manifest_path_((fs::path(folder_) / kManifestName).string()) {
    manifest_ = parse_manifest(read_bytes(manifest_path_), manifest_path_);
    for (const SavedTensor& tensor : manifest_.tensors) by_name_.emplace(tensor.name, &tensor);
    check_identity(identity);
    check_tensors(model);
    if (manifest_.steps >= scenario.steps)
        refuse(manifest_path_, {"checkpoint.nothing_left",
                                {{"done", int64_t{manifest_.steps}}, {"steps", int64_t{scenario.steps}}}});
    same_strategy_ = manifest_.strategy == strategy_word(scenario);
    read_files();
}

void Checkpoint::check_identity(const Identity& identity) const {
    std::vector<Difference> differences;
    for (const auto& [key, wanted] : identity) {
        const std::string* saved = find(manifest_.identity, key);
        if (!saved || *saved != wanted) differences.push_back({key, saved ? *saved : kAbsent, wanted});
    }
    for (const auto& [key, saved] : manifest_.identity)
        if (!find(identity, key)) differences.push_back({key, saved, kAbsent});
    std::vector<Diagnostic> found;
    for (const Difference& each : differences)
        if (!follows(each, differences))
            found.push_back(
                {{"checkpoint.foreign", {{"key", each.key}, {"saved", each.saved}, {"wanted", each.wanted}}},
                 {manifest_path_, 0, 0, -1},
                 {}});
    if (found.empty()) return;
    found.back().hint = {"checkpoint.hint.foreign", {}};
    throw InputError(std::move(found));
}

void Checkpoint::check_tensors(const nn::Model& model) const {
    for (const auto& parameter : model.all_parameters()) {
        const Shape& shape = parallel::whole_shape(*parameter);
        const auto found = by_name_.find(model_key(parameter->name));
        if (found == by_name_.end() || found->second->shape != shape)
            refuse(manifest_path_, {"checkpoint.parameter", {{"name", parameter->name}, {"shape", shape}}});
    }
}

void Checkpoint::read_files() {
    for (const SavedFile& saved : manifest_.files) {
        const std::string path = (fs::path(folder_) / saved.name).string();
        std::error_code error;
        const auto bytes_there = fs::file_size(path, error);
        if (error) refuse(path, {"checkpoint.file_missing", {}}, {"checkpoint.hint.damaged", {}});
        if (!std::cmp_equal(bytes_there, saved.bytes))
            refuse(path,
                   {"checkpoint.file_size",
                    {{"found", static_cast<int64_t>(bytes_there)}, {"wanted", saved.bytes}}},
                   {"checkpoint.hint.damaged", {}});
        const std::string bytes = read_bytes(path);
        Crc32c crc;
        crc.add(bytes.data(), bytes.size());
        if (crc.value() != saved.crc32c)
            refuse(path, {"checkpoint.file_damaged", {}}, {"checkpoint.hint.damaged", {}});
        auto& arrays = files_.emplace_back();
        for (const data::NamedTensor& tensor : data::parse_safetensors(bytes, path).tensors)
            arrays.emplace(tensor.name, tensor.floats());
    }
    // Every box must find as many numbers as it has elements.
    for (const SavedTensor& tensor : manifest_.tensors)
        for (const SavedChunk& saved : tensor.chunks) {
            if (saved.chunk.n_elements() == 0) continue;
            const auto& arrays = files_[static_cast<std::size_t>(saved.file)];
            const auto found = arrays.find(saved.key);
            if (found == arrays.end() || !std::cmp_equal(found->second.size(), saved.chunk.n_elements()))
                refuse(manifest_path_,
                       {"checkpoint.bad_chunks", {{"tensor", tensor.name}, {"shape", tensor.shape}}});
        }
}

void Checkpoint::read_chunk(const SavedTensor& tensor, const Chunk& chunk, std::span<float> numbers) const {
    int64_t copied = 0;
    for (const SavedChunk& saved : tensor.chunks) {
        if (saved.chunk.n_elements() == 0) continue;
        const std::vector<float>& from = files_[static_cast<std::size_t>(saved.file)].at(saved.key);
        copied += copy_common(saved.chunk, from, chunk, numbers);
    }
    if (copied != chunk.n_elements())
        refuse(manifest_path_, {"checkpoint.bad_chunks", {{"tensor", tensor.name}, {"shape", tensor.shape}}});
}

void Checkpoint::read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const {
    const SavedTensor& tensor = *by_name_.at(model_key(parameter.name));
    for (const Chunk& chunk : chunks_of_range(tensor.shape, first, static_cast<int64_t>(numbers.size()))) {
        const auto n = static_cast<std::size_t>(chunk.n_elements());
        read_chunk(tensor, chunk, numbers.first(n));
        numbers = numbers.subspan(n);
    }
}

std::vector<float> Checkpoint::whole(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) throw InvalidArgument({"checkpoint.no_such_array", {{"name", name}}});
    const SavedTensor& tensor = *found->second;
    std::vector<float> numbers(static_cast<std::size_t>(tensor::count(tensor.shape)));
    read_chunk(tensor, {Shape(tensor.shape.size(), 0), tensor.shape}, numbers);
    return numbers;
}

void Checkpoint::restore_array(const std::string& name, const parallel::LocalParameter& local,
                               const tensor::Tensor& array) const {
    const auto found = by_name_.find(name);
    const Shape& shape = parallel::whole_shape(*local.parameter);
    if (found == by_name_.end() || found->second->shape != shape)
        refuse(manifest_path_, {"checkpoint.parameter", {{"name", name}, {"shape", shape}}});
    std::vector<float> numbers(static_cast<std::size_t>(array.n_elements()));
    std::span<float> rest(numbers);
    for (const Chunk& chunk : chunks_of(local)) {
        const auto n = static_cast<std::size_t>(chunk.n_elements());
        read_chunk(*found->second, chunk, rest.first(n));
        rest = rest.subspan(n);
    }
    tensor::write_floats(array, numbers);
}

int32_t Checkpoint::restore(parallel::StepRunner& runner, nn::Optimizer& optimizer) const {
    if (same_strategy_) runner.remember(manifest_.strategy_state);
    const std::vector<parallel::LocalParameter>& locals = runner.local_parameters();
    std::map<std::string, int64_t> steps(manifest_.optimizer_steps.begin(), manifest_.optimizer_steps.end());
    const std::vector<std::string> names = optimizer.state_names();
    for (std::size_t i = 0; i < locals.size(); ++i) {
        const std::string& parameter = locals[i].parameter->name;
        // Under another strategy every rank goes on from copy 0, which load() has put in place.
        const int32_t copy = same_strategy_ ? locals[i].copy : 0;
        if (copy > 0) restore_array(copy_key(model_key(parameter), copy), locals[i], locals[i].value);
        if (locals[i].parameter->frozen) continue;  // it has no state, whatever it had
        optimizer.resume(i, steps[parameter]);
        const nn::Optimizer::State& state = optimizer.states()[i];
        for (std::size_t s = 0; s < names.size() && state.steps > 0; ++s)
            restore_array(copy_key(state_key(parameter, names[s]), copy), locals[i],
                          s == 0 ? state.first : state.second);
    }
    if (!same_strategy_) return manifest_.steps;
    for (const parallel::KeptState& kept : runner.kept())
        for (std::size_t i = 0; i < locals.size(); ++i)
            if (kept.arrays[i].defined())
                restore_array(state_key(locals[i].parameter->name, kept.name), locals[i], kept.arrays[i]);
    return manifest_.steps;
}

}  // namespace meshscope::run::checkpoint
