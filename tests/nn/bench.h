#pragma once

#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/nn/model.h"
#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"
#include "tests/tensor/memory_log.h"

namespace meshscope::test {

/// A model on one CPU "rank", with values drawn from seed 1 and everything it does written down.
struct Bench {
    std::unique_ptr<tensor::Device> device = tensor::make_cpu_device();
    MemoryLog memory;
    tensor::Allocator allocator{*device, &memory};
    trace::Recorder recorder{GlobalRank{0}, trace::Level::collectives, 0};

    nn::Tensor random(nn::Shape shape, uint64_t stream, MemoryCategory category = MemoryCategory::inputs) {
        nn::Tensor t = allocator.empty(std::move(shape), DType::float32, category, "random");
        uint64_t position = 0;
        for (float& x : t.data<float>()) x = static_cast<float>(normal(99, stream, position++));
        return t;
    }

    nn::Tensor tokens(nn::Shape shape, int64_t vocab, uint64_t stream) {
        nn::Tensor t = allocator.empty(std::move(shape), DType::int64, MemoryCategory::inputs, "tokens");
        uint64_t position = 0;
        for (int64_t& x : t.data<int64_t>())
            x = static_cast<int64_t>(uniform(99, stream, position++) * static_cast<double>(vocab));
        return t;
    }

    /// Every parameter standard normal times `scale`, so that no slope is steep.
    void fill_wide(nn::Model& model, float scale) {
        for (const auto& parameter : model.all_parameters()) {
            parameter->value = random(parameter->shape, 1000 + static_cast<uint64_t>(parameter->index),
                                      MemoryCategory::parameters);
            for (float& x : parameter->value.data<float>()) x *= scale;
        }
    }

    void fill(nn::Model& model) {
        for (const auto& parameter : model.all_parameters()) {
            parameter->value = allocator.empty(parameter->shape, DType::float32, MemoryCategory::parameters,
                                               parameter->name);
            nn::draw_initial(*parameter, 1, 0, parameter->value.data<float>());
        }
    }

    /// "name unit" of every compute event so far; empties the record.
    std::vector<std::string> events() {
        const trace::RankRecord record = recorder.take();
        std::vector<std::string> lines;
        for (const trace::Event& event : record.events)
            lines.push_back(record.strings[event.name] + " " + record.strings[event.unit]);
        return lines;
    }
};

}  // namespace meshscope::test
