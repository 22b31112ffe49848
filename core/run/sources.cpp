#include "core/run/sources.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/data/safetensors.h"
#include "core/run/made_batches.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::run {
namespace {

/// Collects what is wrong with a file and throws it all at once.
class FileCheck {
  public:
    explicit FileCheck(std::string path) : path_(std::move(path)) {}
    void add(Message message) { found_.push_back({std::move(message)}); }
    /// What is wrong with the array `name`, which becomes {name}. Arrays of which the same is to be told are
    /// one mistake: {name} lists them, {n} counts them.
    void add(const char* id, const std::string& name, std::vector<MessageArg> same) {
        Message message{id, std::move(same)};
        std::string told = describe(message);
        const auto known = std::ranges::find_if(
            found_, [&](const Found& found) { return !found.names.empty() && found.told == told; });
        if (known == found_.end())
            found_.push_back({std::move(message), {name}, std::move(told)});
        else
            known->names.push_back(name);
    }
    void throw_if_any() {
        std::vector<Diagnostic> diagnostics;
        for (Found& found : found_) {
            if (!found.names.empty()) {
                found.message.args.push_back({"name", listed(found.names)});
                found.message.args.push_back({"n", std::ssize(found.names)});
            }
            diagnostics.push_back({std::move(found.message), {path_, 0, 0, -1}, {}});
        }
        if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
    }

  private:
    struct Found {
        Message message;
        std::vector<std::string> names = {};  ///< of the arrays that it is of
        std::string told = {};                ///< what is the same of them all
    };

    /// The first of many stand for them.
    static std::string listed(const std::vector<std::string>& names) {
        constexpr std::size_t kShown = 12;
        const std::string text = joined(std::span(names).first(std::min(names.size(), kShown)));
        return names.size() > kShown ? text + ", … (" + std::to_string(names.size()) + ")" : text;
    }

    std::string path_;
    std::vector<Found> found_;
};

/// Copies part of a float32 array that was checked to be one.
void copy_floats(const data::NamedTensor& from, int64_t first, std::span<float> numbers) {
    if (!numbers.empty()) std::memcpy(numbers.data(), from.bytes.data() + first * 4, numbers.size_bytes());
}

/// Adds what is wrong with the first number of `tensor` that is not finite.
void check_finite(FileCheck& check, const char* id, const data::NamedTensor& tensor) {
    const auto all = static_cast<std::size_t>(tensor.n_elements());
    float x = 0;
    for (std::size_t i = 0; i < all; ++i) {
        std::memcpy(&x, tensor.bytes.data() + i * sizeof x, sizeof x);
        if (std::isfinite(x)) continue;
        check.add({id,
                   {{"name", tensor.name},
                    {"index", static_cast<int64_t>(i)},
                    {"value", std::string(std::isnan(x) ? "nan"
                                          : x > 0       ? "inf"
                                                        : "-inf")}}});
        return;
    }
}

class WeightsOfFile final : public parallel::InitialValues {
  public:
    /// Of adapters that the file does not have, first values are drawn.
    WeightsOfFile(const std::string& path, const nn::Model& model, uint64_t seed)
        : file_(data::read_safetensors(path)), seed_(seed) {
        FileCheck check(path);
        std::set<std::string> wanted;
        for (const auto& parameter : model.all_parameters()) {
            wanted.insert(parameter->name);
            const data::NamedTensor* found = file_.find(parameter->name);
            if (!found && parameter->adapter) {
                by_index_.push_back(nullptr);
                continue;
            }
            if (!found)
                check.add("weights.missing", parameter->name + " " + to_text(MessageValue(parameter->shape)),
                          {});
            else if (found->dtype != DType::float32)
                check.add("weights.dtype", parameter->name, {{"found", std::string(name(found->dtype))}});
            else if (found->shape != parameter->shape)
                check.add("weights.shape", parameter->name,
                          {{"found", found->shape}, {"shape", parameter->shape}});
            else
                check_finite(check, "weights.not_finite", *found);
            by_index_.push_back(found);
        }
        for (const data::NamedTensor& tensor : file_.tensors)
            if (!wanted.contains(tensor.name)) check.add("weights.unknown", tensor.name, {});
        check.throw_if_any();
    }
    void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const override {
        const data::NamedTensor* const found = by_index_[static_cast<std::size_t>(parameter.whole_index)];
        if (found == nullptr) return nn::draw_initial(parameter, seed_, first, numbers);
        copy_floats(*found, first, numbers);
    }

  private:
    data::SafetensorsFile file_;
    uint64_t seed_;
    std::vector<const data::NamedTensor*> by_index_;
};

class DrawnWeights final : public parallel::InitialValues {
  public:
    explicit DrawnWeights(uint64_t seed) : seed_(seed) {}
    void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const override {
        nn::draw_initial(parameter, seed_, first, numbers);
    }

  private:
    uint64_t seed_;
};

/// The type as safetensors writes it.
std::string file_dtype(DType dtype) {
    return std::string(name(dtype)) + (dtype == DType::int64 ? " (I64)" : " (F32)");
}

class BatchesOfFile final : public Batches {
  public:
    BatchesOfFile(const scenario::Scenario& scenario, const nn::Model& model)
        : file_(data::read_safetensors(scenario.data_file)), ignored_(scenario.ignore_index) {
        FileCheck check(scenario.data_file);
        for (int32_t step = 0; step < scenario.steps; ++step) {
            const std::string number = std::to_string(step);
            x_.push_back(find(check, scenario,
                              {"x" + number, model.input_shape(scenario.global_batch), model.input_dtype()}));
            y_.push_back(
                find(check, scenario,
                     {"y" + number, model.target_shape(scenario.global_batch), model.target_dtype(), true}));
        }
        check.throw_if_any();
    }
    void read(int32_t step, int64_t first_row, const tensor::Tensor& x,
              const tensor::Tensor& y) const override {
        const auto s = static_cast<std::size_t>(step);
        copy_rows(*x_[s], first_row, x);
        if (y.defined() && ignored_)
            copy_targets(*y_[s], first_row, y);
        else
            copy_rows(*y_[s], first_row, y);
    }

  private:
    static void copy_rows(const data::NamedTensor& from, int64_t first_row, const tensor::Tensor& to) {
        if (!to.defined() || to.bytes() == 0) return;
        const int64_t row_bytes = static_cast<int64_t>(from.bytes.size()) / from.shape[0];
        tensor::write_bytes(to, from.bytes.data() + first_row * row_bytes);
    }

    /// Those that count nothing become tensor::kIgnoredTarget.
    void copy_targets(const data::NamedTensor& from, int64_t first_row, const tensor::Tensor& to) const {
        const int64_t row_bytes = static_cast<int64_t>(from.bytes.size()) / from.shape[0];
        tensor::fill_numbers<int64_t>(to, [&](std::span<int64_t> targets) {
            std::memcpy(targets.data(), from.bytes.data() + first_row * row_bytes, targets.size_bytes());
            std::ranges::replace(targets, *ignored_, tensor::kIgnoredTarget);
        });
    }

    /// An array that the file must have.
    struct Wanted {
        std::string name;
        nn::Shape shape;
        DType dtype;
        bool targets = false;
    };

    const data::NamedTensor* find(FileCheck& check, const scenario::Scenario& scenario,
                                  const Wanted& wanted) const {
        const data::NamedTensor* found = file_.find(wanted.name);
        if (!found)
            check.add("data.missing", wanted.name,
                      {{"steps", int64_t{scenario.steps}}, {"last", int64_t{scenario.steps - 1}}});
        else if (found->dtype != wanted.dtype)
            check.add("data.dtype", wanted.name,
                      {{"found", std::string(name(found->dtype))}, {"wanted", file_dtype(wanted.dtype)}});
        else if (found->shape != wanted.shape)
            check.add("data.shape", wanted.name, {{"found", found->shape}, {"shape", wanted.shape}});
        else if (wanted.dtype == DType::int64)
            check_tokens(check, *found, scenario.model.vocab, wanted.targets ? ignored_ : std::nullopt);
        else
            check_finite(check, "data.not_finite", *found);
        return found;
    }

    /// Names the first token of an array that is neither in the vocabulary nor `ignored`; or that all are
    /// ignored.
    static void check_tokens(FileCheck& check, const data::NamedTensor& array, int64_t vocab,
                             std::optional<int64_t> ignored) {
        const int64_t n = array.n_elements();
        int64_t counting = 0;
        for (int64_t i = 0; i < n; ++i) {
            int64_t token = 0;  // the file's bytes need not be aligned
            std::memcpy(&token, array.bytes.data() + i * 8, sizeof token);
            if (token == ignored) continue;
            ++counting;
            if (token >= 0 && token < vocab) continue;
            check.add({"data.token",
                       {{"name", array.name},
                        {"row", i / (n / array.shape[0])},
                        {"token", token},
                        {"vocab", vocab},
                        {"last", vocab - 1}}});
            return;
        }
        if (counting == 0 && n > 0) check.add("data.all_ignored", array.name, {{"ignored", *ignored}});
    }

    data::SafetensorsFile file_;
    std::optional<int64_t> ignored_;
    std::vector<const data::NamedTensor*> x_, y_;  ///< [step]
};

}  // namespace

std::unique_ptr<parallel::InitialValues> open_weights(const scenario::Scenario& scenario,
                                                      const nn::Model& model) {
    if (scenario.weights.empty()) return std::make_unique<DrawnWeights>(scenario.model_seed);
    return std::make_unique<WeightsOfFile>(scenario.weights, model, scenario.model_seed);
}

std::unique_ptr<Batches> open_batches(const scenario::Scenario& scenario, const nn::Model& model) {
    if (scenario.data_file.empty() && scenario.data_sampler)
        return std::make_unique<SampledBatches>(scenario, model, scenario::data_parallel_size(scenario));
    if (scenario.data_file.empty()) return std::make_unique<MadeBatches>(scenario, model);
    return std::make_unique<BatchesOfFile>(scenario, model);
}

}  // namespace meshscope::run
