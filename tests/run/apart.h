#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "core/run/run.h"

namespace meshscope::test {

/// A world of which one rank lives here, as a process backend's.
class OneRankWorld final : public comm::World {
  public:
    explicit OneRankWorld(comm::Transport& transport) : transport_(transport) {}
    int32_t size() const override { return transport_.world_size(); }
    void run(const std::function<void(comm::Transport&)>& body) override { body(transport_); }
    bool whole() const override { return false; }

  private:
    comm::Transport& transport_;
};

class OneRankBackends final : public run::Backends {
  public:
    explicit OneRankBackends(comm::Transport& transport) : transport_(transport) {}
    std::unique_ptr<comm::World> open(const std::string&, const run::WorldRequest&) const override {
        return std::make_unique<OneRankWorld>(transport_);
    }
    std::vector<std::string> names() const override { return {"threads"}; }

  private:
    comm::Transport& transport_;
};

/// Runs as many "processes" as the scenario has ranks, each with a run_scenario of its own that sees nothing
/// of the others but its transport; `start` gives process r its scenario and options. The results by rank.
template <class Start>
std::vector<run::RunResult> run_apart(int32_t ranks, const Start& start) {
    std::vector<run::RunResult> results(static_cast<std::size_t>(ranks));
    backends::make_registry()->open("threads", {ranks})->run([&](comm::Transport& transport) {
        const int32_t rank = transport.rank().value;
        const auto [scenario, options] = start(rank);
        results[static_cast<std::size_t>(rank)] =
            run::run_scenario(scenario, OneRankBackends(transport), options);
    });
    return results;
}

}  // namespace meshscope::test
