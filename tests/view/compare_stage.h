#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/view/compare_figures.h"
#include "app/gui/view/compare_view.h"
#include "tests/view/stage.h"

namespace meshscope::test::compare {

inline const std::string kHead =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n"
    "[hardware]\nranks_per_node = 2\n[mesh]\n";
inline const std::string kDdp = kHead + "shape = [4]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n";
inline const std::string kUnits = "units = [[\"net1\"], [\"net2\"]]\n";
inline const std::string kFsdp =
    kHead + "shape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n" + kUnits;
inline const std::string kHsdp =
    kHead + "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n" + kUnits;

/// The record of this scenario, run on threads.
std::shared_ptr<const trace::Trace> trace_of(const std::string& text);

/// DDP, FSDP2 and HSDP of the same model and data, as the window lays them side by side.
struct Side {
    explicit Side(std::vector<std::shared_ptr<const trace::Trace>> given,
                  view::Language l = view::Language::en)
        : traces(std::move(given)), measure(l == view::Language::zh ? 1.6F : 1.45F), texts(l), language(l) {
        for (const auto& t : traces) clocks.push_back(time::modelled(*t, time::classroom()));
    }
    std::vector<view::ComparedRun> runs(std::size_t front = 0, int32_t rank = 0) const {
        static const char* const kNames[] = {"DDP", "FSDP2", "HSDP (2,2)",
                                             "a run with a rather long name.mscope"};
        std::vector<view::ComparedRun> out;
        for (std::size_t i = 0; i < traces.size(); ++i)
            out.push_back({kNames[i], *traces[i], clocks[i], rank, i == front});
        return out;
    }
    view::Input input(view::Size size, std::size_t front = 0) const {
        const int64_t middle = time::span_of_step(*traces[front], clocks[front], 2).begin_ns + 1;
        return {*traces[front], clocks[front], {middle}, selection, size, language, measure, texts};
    }
    std::vector<std::shared_ptr<const trace::Trace>> traces;
    std::vector<time::Clock> clocks;
    test::FakeMeasure measure;
    test::CatalogueTexts texts;
    view::Language language;
    view::Selection selection;
};

/// Those three, run once.
const std::vector<std::shared_ptr<const trace::Trace>>& three();

}  // namespace meshscope::test::compare
