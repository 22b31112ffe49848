#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "backends/mpi/mpi_world.h"
#include "core/comm/forwarding_transport.h"

namespace meshscope::mpi_test {

/// The job that mpiexec started, of which this process is one rank. MPI is one a process.
class Job {
  public:
    static Job& the() {
        static Job job;
        return job;
    }
    void open(const std::string& word, int32_t size) {
        for (const backends::mpi::Library& library : backends::mpi::libraries()) {
            if (library.word != word) continue;
            mpi_ = &backends::mpi::load(library);
            world_ = std::make_unique<backends::mpi::MpiWorld>(library, size, std::chrono::seconds(60));
            world_->run([&](comm::Transport& transport) { rank_ = transport.rank().value; });
            word_ = word;
            return;
        }
        throw std::runtime_error("no library " + word);
    }
    backends::mpi::MpiWorld& world() { return *world_; }
    int32_t rank() const { return rank_; }
    const std::string& word() const { return word_; }
    /// The others may wait for this rank in the next world: MPI ends all.
    void end_all() { mpi_->leave(0); }

  private:
    const MeshscopeMpi* mpi_ = nullptr;
    std::unique_ptr<backends::mpi::MpiWorld> world_;
    std::string word_;
    int32_t rank_ = -1;
};

/// A transport in a smaller world.
class Narrowed final : public comm::ForwardingTransport {
  public:
    Narrowed(Transport& inner, int32_t size) : ForwardingTransport(inner, size) {}
};

/// A world of the job's first ranks; run() runs nothing on the others.
class FirstRanks final : public comm::World {
  public:
    explicit FirstRanks(int32_t size) : size_(size) {}
    int32_t size() const override { return size_; }
    bool whole() const override { return size_ == 1; }
    void run(const std::function<void(comm::Transport&)>& body) override {
        Job::the().world().run([&](comm::Transport& transport) {
            if (transport.rank().value >= size_) return;
            Narrowed narrowed(transport, size_);
            body(narrowed);
        });
    }

  private:
    int32_t size_;
};

}  // namespace meshscope::mpi_test
