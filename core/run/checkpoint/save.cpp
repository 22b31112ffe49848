#include "core/run/checkpoint/save.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/replace_file.h"
#include "core/data/safetensors.h"
#include "core/parallel/tensor/placement.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/own_files.h"
#include "core/run/finite.h"
#include "core/run/merge.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::run::checkpoint {
namespace {

namespace fs = std::filesystem;
using parallel::LocalParameter;
using tensor::Tensor;

/// One of the arrays that a parameter has in a checkpoint: itself, the optimizer's state, the strategy's.
struct Kind {
    enum class Of : uint8_t { parameter, first, second, strategy };
    Of of = Of::parameter;
    std::string state{};   ///< "" of the parameter itself
    std::size_t kept = 0;  ///< its place in RankState::kept

    const Tensor& array(const RankState& rank, std::size_t local) const {
        switch (of) {
            case Of::parameter:
                return rank.runner->local_parameters()[local].value;
            case Of::first:
                return rank.optimizer->states()[local].first;
            case Of::second:
                return rank.optimizer->states()[local].second;
            case Of::strategy:
                break;
        }
        return rank.kept[kept].arrays[local];
    }
    std::string key(const std::string& parameter, int32_t copy) const {
        return copy_key(state.empty() ? model_key(parameter) : state_key(parameter, state), copy);
    }
};

std::vector<Kind> kinds_of(const RankState& rank) {
    std::vector<Kind> kinds{{Kind::Of::parameter}};
    for (const std::string& name : rank.optimizer->state_names())
        kinds.push_back({kinds.size() == 1 ? Kind::Of::first : Kind::Of::second, name});
    for (std::size_t k = 0; k < rank.kept.size(); ++k)
        kinds.push_back({Kind::Of::strategy, rank.kept[k].name, k});
    return kinds;
}

/// One array of a checkpoint.
struct Entry {
    std::size_t parameter = 0;
    int32_t copy = 0;
    Kind kind;

    bool has(const LocalParameter& local) const {
        return local.parameter->whole_index == static_cast<int32_t>(parameter) && local.copy == copy;
    }
    bool has(const Piece& piece) const {
        return piece.parameter == static_cast<int32_t>(parameter) && piece.copy == copy;
    }
};

/// The arrays of a checkpoint in the order in which every rank walks through them.
std::vector<Entry> entries_of(const RankState& rank, const std::vector<Layout>& layouts,
                              const Manifest& manifest) {
    int32_t copies = 1;
    for (const Layout& layout : layouts)
        for (const Piece& piece : layout.pieces) copies = std::max(copies, piece.copy + 1);
    const std::vector<Kind> kinds = kinds_of(rank);
    std::vector<Entry> entries;
    for (std::size_t p = 0; p < manifest.optimizer_steps.size(); ++p)
        for (int32_t copy = 0; copy < copies; ++copy)
            for (const Kind& kind : kinds) {
                if (!kind.state.empty() && manifest.optimizer_steps[p].second == 0) continue;
                if (kind.of == Kind::Of::strategy && copy > 0) continue;  // the same on every copy
                entries.push_back({p, copy, kind});
            }
    return entries;
}

[[noreturn]] void save_failed(const std::string& folder, const Message& cause) {
    const auto text = [&](const char* name) {
        const MessageValue* value = cause.find(name);
        return value ? to_text(*value) : describe(cause);
    };
    const std::vector<std::string> complete = complete_checkpoints(folder);
    if (complete.empty())
        throw IoError({"checkpoint.save_failed", {{"path", text("path")}, {"reason", text("reason")}}});
    throw IoError({"checkpoint.save_failed_kept",
                   {{"path", text("path")}, {"reason", text("reason")}, {"kept", complete.back()}}});
}

}  // namespace

Saver::Saver(const SavePlan& plan, comm::ProcessGroup& group, tensor::Allocator& allocator,
             trace::Recorder* recorder)
    : plan_(plan), group_(group), allocator_(allocator), recorder_(recorder), saved_(plan.saved) {
    std::error_code error;
    if (is_root() && fs::is_directory(plan_.settings.folder, error)) plan_.lock->take(plan_.settings.folder);
}

void Saver::after_step(int32_t steps_done, const RankState& state) {
    if (plan_.settings.every > 0 && steps_done % plan_.settings.every == 0) save(steps_done, state);
}

void Saver::finish(int32_t steps_done, const RankState& state) {
    if (steps_done != saved_) save(steps_done, state);
}

void Saver::save(int32_t steps_done, const RankState& given) {
    RankState state = given;
    state.kept = state.runner->kept();
    const int32_t saved_before = std::exchange(saved_, steps_done);
    if (recorder_) recorder_->set_phase(Phase::setup);
    const std::string& folder = plan_.settings.folder;
    const std::string unfinished = (fs::path(folder) / (step_name(steps_done) + ".tmp")).string();
    try {
        if (is_root()) begin_checkpoint(folder, steps_done, *plan_.lock);
        // Nobody leaves this before rank 0 has entered it: the folder is there.
        std::vector<Layout> layouts;
        for (const std::vector<int64_t>& words : exchange(encode(layout_of(state))))
            layouts.push_back(decode(words));
        refused_ = !std::ranges::all_of(layouts, &Layout::finite);
        if (refused_) return refuse_to_save(steps_done);
        Manifest manifest = plan_.header;
        describe(manifest, steps_done, layouts);
        if (plan_.settings.sharded)
            save_sharded(unfinished, state, layouts, manifest);
        else
            save_on_rank0(unfinished, state, layouts, manifest);
        if (is_root()) {
            replace_file((fs::path(unfinished) / kManifestName).string(), to_json(manifest));
            // Newer ones are of a run that this one went back behind: "the newest" must be this run's.
            drop_checkpoints_after(folder, saved_before);
            commit_checkpoint(folder, steps_done);
            prune_checkpoints(folder, plan_.settings.keep);
        }
    } catch (const IoError& error) {
        save_failed(folder, error.message());
    }
    if (group_.size() > 1)
        group_.barrier(comm::CallOptions{.cause = {"checkpoint.barrier", "checkpoint"}, .async_op = false});
}

/// The numbers stay as they are from here on: who is told once knows.
void Saver::refuse_to_save(int32_t steps_done) {
    if (!is_root()) return;
    remove_unfinished(plan_.settings.folder);
    if (plan_.tell && !std::exchange(told_, true))
        plan_.tell({"checkpoint.not_finite", {{"steps", int64_t{steps_done}}}});
}

Layout Saver::layout_of(const RankState& state) const {
    Layout layout{{state.losses.begin(), state.losses.end()},
                  {state.grad_norms.begin(), state.grad_norms.end()},
                  state.runner->remembered(),
                  true,
                  {}};
    const std::vector<LocalParameter>& locals = state.runner->local_parameters();
    const std::vector<Kind> kinds = kinds_of(state);
    for (std::size_t i = 0; i < locals.size(); ++i) {
        if (!state.answers_for(locals[i])) continue;
        layout.pieces.push_back({locals[i].parameter->whole_index, state.optimizer->states()[i].steps,
                                 locals[i].copy, chunks_of(locals[i])});
        for (const Kind& kind : kinds)
            layout.finite = layout.finite && !first_not_finite(kind.array(state, i));
    }
    return layout;
}

std::vector<std::vector<int64_t>> Saver::exchange(std::span<const int64_t> words) const {
    if (group_.size() == 1) return {{words.begin(), words.end()}};
    const comm::CallOptions options{.cause = {"checkpoint.layout", "checkpoint"}, .async_op = false};
    const auto make = [&](int64_t n) {
        return allocator_.empty({n}, DType::int64, MemoryCategory::communication, "checkpoint layout");
    };
    const Tensor mine = make(1), sizes = make(group_.size());
    tensor::fill_numbers<int64_t>(mine,
                                  [&](std::span<int64_t> n) { n[0] = static_cast<int64_t>(words.size()); });
    group_.all_gather(sizes, mine, {}, options);
    const tensor::HostNumbers<int64_t> size_data(sizes);
    const std::vector<int64_t> counts(size_data.begin(), size_data.end());
    int64_t total = 0;
    for (const int64_t count : counts) total += count;

    const Tensor my_words = make(static_cast<int64_t>(words.size())), all = make(total);
    tensor::write_bytes(my_words, reinterpret_cast<const std::byte*>(words.data()));
    group_.all_gather(all, my_words, counts, options);
    std::vector<std::vector<int64_t>> by_rank;
    const tensor::HostNumbers<int64_t> all_words(all);
    auto at = all_words.begin();
    for (const int64_t count : counts) {
        by_rank.emplace_back(at, at + count);
        at += count;
    }
    return by_rank;
}

void Saver::describe(Manifest& manifest, int32_t steps_done, const std::vector<Layout>& layouts) const {
    manifest.steps = steps_done;
    StepValues losses, norms;
    for (const Layout& layout : layouts) {
        losses.emplace_back(layout.losses);
        norms.emplace_back(layout.grad_norms);
    }
    const std::vector<double> mean_losses = mean_by_step(losses), mean_norms = mean_by_step(norms);
    manifest.losses.insert(manifest.losses.end(), mean_losses.begin(), mean_losses.end());
    manifest.grad_norms.insert(manifest.grad_norms.end(), mean_norms.begin(), mean_norms.end());
    // Ranks that run the same part of the model learned the same; the stages of a pipeline each their own.
    for (std::size_t r = 0; r < layouts.size(); ++r) {
        const std::vector<int64_t>& learned = layouts[r].strategy_state;
        const bool known =
            std::any_of(layouts.begin(), layouts.begin() + static_cast<std::ptrdiff_t>(r),
                        [&](const Layout& earlier) { return earlier.strategy_state == learned; });
        if (!known)
            manifest.strategy_state.insert(manifest.strategy_state.end(), learned.begin(), learned.end());
    }
    std::vector<int64_t> steps(plan_.parameters.size(), 0);
    for (const Layout& layout : layouts)
        for (const Piece& piece : layout.pieces) {
            int64_t& most = steps[static_cast<std::size_t>(piece.parameter)];
            most = std::max(most, piece.steps);
        }
    for (std::size_t p = 0; p < steps.size(); ++p)
        manifest.optimizer_steps.emplace_back(plan_.parameters[p].name, steps[p]);
}

void Saver::save_sharded(const std::string& folder, const RankState& state,
                         const std::vector<Layout>& layouts, Manifest& manifest) const {
    const std::vector<Entry> entries = entries_of(state, layouts, manifest);
    const std::vector<LocalParameter>& locals = state.runner->local_parameters();
    // Array by array, the same walk on every rank; each writes its own boxes' numbers.
    std::vector<data::NamedTensor> mine;
    for (const Entry& entry : entries) {
        const std::string key = entry.kind.key(plan_.parameters[entry.parameter].name, entry.copy);
        std::size_t c = 0;
        for (std::size_t i = 0; i < locals.size(); ++i) {
            if (!entry.has(locals[i]) || !state.answers_for(locals[i])) continue;
            const Tensor& from = entry.kind.array(state, i);
            std::vector<float> numbers(static_cast<std::size_t>(locals[i].value.n_elements()));
            if (from.defined()) numbers = tensor::floats_of(from);
            std::span<const float> rest(numbers);
            for (const Chunk& chunk : chunks_of(locals[i])) {
                const auto n = static_cast<std::size_t>(chunk.n_elements());
                mine.push_back(data::named_floats(chunk_key(key, c++), chunk.sizes, rest.first(n)));
                rest = rest.subspan(n);
            }
        }
    }
    data::WrittenFile written;
    const bool writes = !mine.empty();
    if (writes) {
        const GlobalRank me = group_.ranks()[static_cast<std::size_t>(group_.rank().value)];
        written = data::write_safetensors((fs::path(folder) / rank_file(me.value)).string(), std::move(mine));
    }
    const std::array<int64_t, 3> words{writes ? 1 : 0, written.bytes, int64_t{written.crc32c}};
    const auto files = exchange(words);
    if (!is_root()) return;

    std::vector<int32_t> file_of(layouts.size(), -1);
    for (std::size_t r = 0; r < files.size(); ++r) {
        if (files[r][0] == 0) continue;
        file_of[r] = static_cast<int32_t>(manifest.files.size());
        manifest.files.push_back(
            {rank_file(group_.ranks()[r].value), files[r][1], static_cast<uint32_t>(files[r][2])});
    }
    for (const Entry& entry : entries) {
        const SavedTensor& parameter = plan_.parameters[entry.parameter];
        SavedTensor tensor{entry.kind.key(parameter.name, entry.copy), parameter.shape, {}};
        for (std::size_t r = 0; r < layouts.size(); ++r) {
            std::size_t c = 0;
            for (const Piece& piece : layouts[r].pieces) {
                if (!entry.has(piece)) continue;
                for (const Chunk& chunk : piece.chunks) {
                    std::string key = chunk_key(tensor.name, c++);
                    // A tied parameter is in a pipeline's first and last stage: one of them counts.
                    const bool twice =
                        chunk.n_elements() > 0 &&
                        std::ranges::find(tensor.chunks, chunk, &SavedChunk::chunk) != tensor.chunks.end();
                    if (!twice) tensor.chunks.push_back({chunk, file_of[r], std::move(key)});
                }
            }
        }
        manifest.tensors.push_back(std::move(tensor));
    }
}

std::vector<float> Saver::gather(const std::vector<Layout>& layouts, std::size_t parameter, int32_t copy,
                                 std::span<const Tensor> mine) const {
    const Entry entry{parameter, copy, {}};
    const tensor::Kernels& kernels = allocator_.device().kernels();
    std::vector<int64_t> counts;
    int64_t total = 0;
    for (const Layout& layout : layouts) {
        int64_t& count = counts.emplace_back(0);
        for (const Piece& piece : layout.pieces)
            if (entry.has(piece)) count += piece.n_elements();
        total += count;
    }
    const auto make = [&](int64_t n) {
        return allocator_.empty({n}, DType::float32, MemoryCategory::communication, "checkpoint gather");
    };
    Tensor numbers = make(counts[static_cast<std::size_t>(group_.rank().value)]);
    int64_t at = 0;
    for (const Tensor& tensor : mine) {
        kernels.cast(numbers.slice(at, tensor.n_elements()), tensor.flat());
        at += tensor.n_elements();
    }
    if (counts[0] != total) {  // else rank 0 holds all of it already
        const Tensor all = is_root() ? make(total) : Tensor();
        group_.gather(all, numbers, GroupRank{0}, counts,
                      comm::CallOptions{.cause = {"checkpoint.gather", plan_.parameters[parameter].name},
                                        .async_op = false});
        numbers = all;
    }
    if (!is_root()) return {};
    std::vector<float> in_order(static_cast<std::size_t>(total));
    kernels.download(in_order, numbers);
    const Shape& shape = plan_.parameters[parameter].shape;
    const Chunk everything{Shape(shape.size(), 0), shape};
    std::vector<float> whole(static_cast<std::size_t>(tensor::count(shape)));
    std::span<const float> rest(in_order);
    for (const Layout& layout : layouts)
        for (const Piece& piece : layout.pieces) {
            if (!entry.has(piece)) continue;
            for (const Chunk& chunk : piece.chunks) {
                const auto n = static_cast<std::size_t>(chunk.n_elements());
                copy_common(chunk, rest.first(n), everything, whole);
                rest = rest.subspan(n);
            }
        }
    return whole;
}

void Saver::save_on_rank0(const std::string& folder, const RankState& state,
                          const std::vector<Layout>& layouts, Manifest& manifest) const {
    const std::vector<LocalParameter>& locals = state.runner->local_parameters();
    std::vector<data::NamedTensor> arrays;
    for (const Entry& entry : entries_of(state, layouts, manifest)) {
        std::vector<Tensor> mine;
        for (std::size_t i = 0; i < locals.size(); ++i) {
            if (!entry.has(locals[i]) || !state.answers_for(locals[i])) continue;
            const Tensor& from = entry.kind.array(state, i);
            mine.push_back(from.defined()
                               ? from
                               : allocator_.zeros(locals[i].value.shape(), DType::float32,
                                                  MemoryCategory::communication, "checkpoint gather"));
        }
        const std::vector<float> whole = gather(layouts, entry.parameter, entry.copy, mine);
        if (!is_root()) continue;
        const SavedTensor& parameter = plan_.parameters[entry.parameter];
        const std::string key = entry.kind.key(parameter.name, entry.copy);
        arrays.push_back(data::named_floats(key, parameter.shape, whole));
        const Chunk everything{Shape(parameter.shape.size(), 0), parameter.shape};
        manifest.tensors.push_back({key, parameter.shape, {{everything, 0, key}}});
    }
    if (!is_root()) return;
    const std::string name(kWholeFile);
    const data::WrittenFile written =
        data::write_safetensors((fs::path(folder) / name).string(), std::move(arrays));
    manifest.files.push_back({name, written.bytes, written.crc32c});
}

}  // namespace meshscope::run::checkpoint
