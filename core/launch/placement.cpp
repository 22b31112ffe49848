#include "core/launch/placement.h"

#include <array>
#include <charconv>
#include <tuple>
#include <vector>

#include "core/base/error.h"

namespace meshscope::launch {
namespace {

/// What one launcher calls the same things; null: it has no such variable.
struct Words {
    Launcher launcher;
    const char *rank, *size, *local_rank, *local_size, *node;
};

constexpr std::array<Words, 4> kWords{
    {{Launcher::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"},
     {Launcher::openmpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
     {Launcher::mpich, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr},
     {Launcher::slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_NODEID"}}};

constexpr int32_t kLastPort = 65535;

class Reader {
  public:
    explicit Reader(const Environment& environment) : environment_(environment) {}

    std::string text(const char* variable) const { return variable ? environment_(variable) : std::string(); }

    /// A count in decimal digits; nothing where the variable is not set, or is no number (a mistake).
    std::optional<int32_t> number(const char* variable) {
        const std::string value = text(variable);
        if (value.empty()) return std::nullopt;
        int32_t read = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
        if (error == std::errc() && end == value.data() + value.size() && read >= 0) return read;
        tell({"launch.not_a_number", {{"variable", std::string(variable)}, {"value", value}}});
        return std::nullopt;
    }

    /// Two variables that belong together; nothing where either is missing.
    std::optional<std::pair<int32_t, int32_t>> pair(const char* of_rank, const char* of_size) {
        const std::size_t before = mistakes_.size();
        const auto rank = number(of_rank), size = number(of_size);
        if (mistakes_.size() > before) return std::nullopt;
        if (!rank && !size) return std::nullopt;
        if (!rank || !size) {
            tell({"launch.incomplete",
                  {{"has", std::string(rank ? of_rank : of_size)},
                   {"missing", std::string(rank ? of_size : of_rank)}}});
            return std::nullopt;
        }
        check_below(of_rank, *rank, of_size, *size);
        return std::pair(*rank, *size);
    }

    void check_below(const char* of_rank, int32_t rank, const char* of_size, int32_t size) {
        if (rank < size) return;
        tell({"launch.rank_outside",
              {{"rank_variable", std::string(of_rank)},
               {"rank", int64_t{rank}},
               {"size_variable", std::string(of_size)},
               {"size", int64_t{size}}}});
    }

    void same(const char* a, int32_t of_a, const char* b, int32_t of_b) {
        if (of_a == of_b) return;
        tell({"launch.conflict",
              {{"variable", std::string(a)},
               {"value", int64_t{of_a}},
               {"other", std::string(b)},
               {"other_value", int64_t{of_b}}}});
    }

    void tell(Message message) { mistakes_.push_back({std::move(message), {}, {}}); }
    void finish() {
        if (!mistakes_.empty()) throw InputError(std::move(mistakes_));
    }

  private:
    const Environment& environment_;
    std::vector<Diagnostic> mistakes_;
};

/// SLURM_STEP_NUM_TASKS is new; older ones say SLURM_NTASKS.
const char* size_variable(const Words& words, const Reader& reader) {
    if (words.launcher == Launcher::slurm && reader.text(words.size).empty()) return "SLURM_NTASKS";
    return words.size;
}

void read_master(Reader& reader, Placement& placement) {
    placement.master_addr = reader.text("MASTER_ADDR");
    const bool has_port = !reader.text("MASTER_PORT").empty();
    if (const auto port = reader.number("MASTER_PORT")) {
        placement.master_port = *port;
        if (*port < 1 || *port > kLastPort)
            reader.tell(
                {"launch.not_a_port", {{"variable", std::string("MASTER_PORT")}, {"value", int64_t{*port}}}});
    }
    if (placement.master_addr.empty() != !has_port)
        reader.tell({"launch.incomplete",
                     {{"has", std::string(has_port ? "MASTER_PORT" : "MASTER_ADDR")},
                      {"missing", std::string(has_port ? "MASTER_ADDR" : "MASTER_PORT")}}});
}

void read_elastic(Reader& reader, Placement& placement) {
    placement.store = reader.text("MESHSCOPE_STORE");
    placement.run_id = reader.text("TORCHELASTIC_RUN_ID");
    const auto round = reader.number("MESHSCOPE_ROUND"),
               restarts = reader.number("TORCHELASTIC_RESTART_COUNT");
    placement.round = round.value_or(restarts.value_or(0));
    placement.port_is_taken =
        placement.store.empty() && reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
}

}  // namespace

const char* name(Launcher launcher) {
    switch (launcher) {
        case Launcher::torchrun:
            return "torchrun";
        case Launcher::openmpi:
            return "Open MPI";
        case Launcher::mpich:
            return "MPICH";
        case Launcher::slurm:
            return "Slurm";
        case Launcher::none:
            break;
    }
    return "";
}

std::string store_address(const Placement& placement) {
    if (!placement.store.empty()) return placement.store;
    if (placement.master_addr.empty()) return "";
    if (placement.port_is_taken && placement.master_port == kLastPort)
        throw InvalidArgument(
            {"launch.no_port_after",
             {{"launcher", launcher_name(placement)}, {"port", int64_t{placement.master_port}}}});
    const int32_t port = placement.master_port + (placement.port_is_taken ? 1 : 0);
    return placement.master_addr + ":" + std::to_string(port);
}

std::string launcher_name(const Placement& placement) {
    const bool ours = placement.launcher == Launcher::torchrun && !placement.store.empty();
    return ours ? "meshscope launch" : name(placement.launcher);
}

Placement find_placement(const Environment& environment) {
    Reader reader(environment);
    Placement placement;
    const Words* first = nullptr;
    for (const Words& words : kWords) {
        const bool slurm = words.launcher == Launcher::slurm;
        if (slurm && (first || reader.text("SLURM_STEP_ID").empty())) continue;
        const char* const of_size = size_variable(words, reader);
        const auto pair = reader.pair(words.rank, of_size);
        if (!pair) continue;
        if (first) {
            reader.same(first->rank, placement.rank, words.rank, pair->first);
            reader.same(first->size, placement.world_size, of_size, pair->second);
            continue;
        }
        first = &words;
        placement.launcher = words.launcher;
        std::tie(placement.rank, placement.world_size) = *pair;
        const auto local_rank = reader.number(words.local_rank), local_size = reader.number(words.local_size);
        placement.local_rank = local_rank.value_or(0);
        placement.local_world_size = local_size.value_or(0);
        if (local_rank && local_size)
            reader.check_below(words.local_rank, *local_rank, words.local_size, *local_size);
        placement.node_rank = reader.number(words.node).value_or(0);
    }
    if (first) {
        read_master(reader, placement);
        read_elastic(reader, placement);
    }
    reader.finish();
    return placement;
}

}  // namespace meshscope::launch
