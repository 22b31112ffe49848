#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/file_kind.h"
#include "core/base/json_text.h"
#include "core/base/replace_file.h"
#include "core/trace/export.h"

namespace meshscope::trace {
namespace {

/// Kineto's words (libkineto, ParamCommsUtils): what PyTorch calls the collective and the element type.
std::string_view kineto_name(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::broadcast:
            return "broadcast";
        case CollectiveOp::reduce:
            return "reduce";
        case CollectiveOp::all_reduce:
            return "allreduce";
        case CollectiveOp::gather:
            return "gather";
        case CollectiveOp::all_gather:
            return "_allgather_base";
        case CollectiveOp::scatter:
            return "scatter";
        case CollectiveOp::reduce_scatter:
            return "_reduce_scatter_base";
        case CollectiveOp::all_to_all:
            return "all_to_all";
        case CollectiveOp::send:
            return "send";
        case CollectiveOp::recv:
            return "recv";
        case CollectiveOp::barrier:
            return "barrier";
    }
    return "unknown";
}

std::string_view kineto_name(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return "Float";
        case DType::bfloat16:
            return "BFloat16";
        case DType::float16:
            return "Half";
        case DType::int32:
            return "Int";
        case DType::int64:
            return "Long";
        case DType::uint8:
            return "Byte";
    }
    return "unknown";
}

/// Any bytes as a JSON string.
std::string json_string(std::string_view text) {
    return json_text(nlohmann::json(text));
}

/// Nanoseconds as µs with three decimals: no rounding, so slices that touch do not overlap.
std::string micros(int64_t ns) {
    const bool negative = ns < 0;
    const auto magnitude = negative ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    std::string fraction = std::to_string(magnitude % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    return (negative ? "-" : "") + std::to_string(magnitude / 1000) + "." + fraction;
}

std::string bracketed(const std::vector<int32_t>& ranks) {
    std::string text = "[";
    for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    return text + "]";
}

/// Lanes of a track: events that overlap in time stand in different ones.
constexpr int kLaneStride = 8;  // more than there are tracks: tid = 1 + track + kLaneStride · lane

/// Where an event stands: on its stream's track; a collective that was called on the compute stream itself
/// (at set-up, tensor parallelism's) on one beside it: communication never stands among what is computed.
constexpr int kBesideCompute = 6;
int track_of(const Event& e) {
    const bool beside = e.kind == EventKind::collective && e.stream == Stream::compute;
    return beside ? kBesideCompute : static_cast<int>(e.stream);
}

std::string title_of_track(int track) {
    return track == kBesideCompute ? "communication" : std::string(name(static_cast<Stream>(track)));
}

/// Compute first, then what it waits for.
int order_of_track(int track) {
    return track == kBesideCompute ? 50 : 100 * track;
}

class Exporter {
  public:
    Exporter(const Trace& trace, const TextSink& out) : trace_(trace), out_(out) {
        for (const std::string& text : trace.strings) quoted_.push_back(json_string(text));
        for (const Group& group : trace.groups) {
            // 10 ranks or 10,000: the list is a text, as Kineto writes it
            group_args_.push_back(",\"Process Group Description\":" + json_string(group.mesh_dim) +
                                  ",\"Process Group Ranks\":\"" + bracketed(group.ranks) +
                                  "\",\"Group size\":" + std::to_string(group.ranks.size()));
        }
    }

    void write() {
        buffer_ = "{\"" + std::string(kJsonMark) + "\":" + json_string(kJsonMarkValue) +
                  ",\"displayTimeUnit\":\"ns\",\"traceName\":" + json_string(trace_.info.title_en) +
                  ",\"distributedInfo\":";
        distributed_info();
        buffer_ += ",\"traceEvents\":[\n";
        for (std::size_t r = 0; r < trace_.ranks.size(); ++r) rank(r);
        buffer_ += "\n]}\n";
        out_(buffer_);
    }

  private:
    void begin_event() {
        if (buffer_.size() > (1U << 20)) {
            out_(buffer_);
            buffer_.clear();
        }
        if (!first_) buffer_ += ",\n";
        first_ = false;
    }

    void distributed_info() {
        buffer_ += "{\"backend\":" + json_string(trace_.info.backend) +
                   ",\"rank\":0,\"world_size\":" + std::to_string(trace_.info.world_size) +
                   ",\"pg_count\":" + std::to_string(trace_.groups.size()) + ",\"pg_config\":[";
        for (std::size_t g = 0; g < trace_.groups.size(); ++g) {
            const Group& group = trace_.groups[g];
            buffer_ += std::string(g > 0 ? "," : "") + "{\"pg_name\":\"" + std::to_string(g) +
                       "\",\"pg_desc\":" + json_string(group.mesh_dim) +
                       ",\"pg_size\":" + std::to_string(group.ranks.size()) +
                       ",\"ranks\":" + bracketed(group.ranks) + "}";
        }
        buffer_ += "]}";
    }

    void metadata(std::size_t rank, int tid, const char* what, const std::string& args) {
        begin_event();
        buffer_ += std::string("{\"ph\":\"M\",\"name\":\"") + what + "\",\"pid\":" + std::to_string(rank) +
                   ",\"tid\":" + std::to_string(tid) + ",\"ts\":0,\"args\":{" + args + "}}";
    }

    void rank(std::size_t r) {
        metadata(r, 0, "process_name", "\"name\":\"rank " + std::to_string(r) + "\"");
        metadata(r, 0, "process_sort_index", "\"sort_index\":" + std::to_string(r));
        std::map<int, std::vector<const Event*>> tracks;
        for (const Event& e : trace_.ranks[r].events) tracks[track_of(e)].push_back(&e);
        for (auto& [track, events] : tracks) {
            std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
                return std::pair(a->t_begin_ns, a->t_end_ns) < std::pair(b->t_begin_ns, b->t_end_ns);
            });
            std::vector<int64_t> lane_end;  // when each lane is free again
            for (const Event* e : events) {
                std::size_t lane = 0;
                while (lane < lane_end.size() && lane_end[lane] > e->t_begin_ns) ++lane;
                const int tid = 1 + track + kLaneStride * static_cast<int>(lane);
                if (lane == lane_end.size()) {
                    lane_end.push_back(0);
                    name_lane(r, tid, track, lane);
                }
                lane_end[lane] = e->t_end_ns;
                slice(r, tid, *e);
            }
        }
        memory(r);
    }

    void name_lane(std::size_t r, int tid, int track, std::size_t lane) {
        std::string title = title_of_track(track);
        if (lane > 0) title += " (" + std::to_string(lane + 1) + ")";
        metadata(r, tid, "thread_name", "\"name\":\"" + title + "\"");
        metadata(r, tid, "thread_sort_index",
                 "\"sort_index\":" + std::to_string(order_of_track(track) + static_cast<int>(lane)));
    }

    void slice(std::size_t r, int tid, const Event& e) {
        begin_event();
        const bool is_collective = e.kind == EventKind::collective;
        std::string title(is_collective ? name(e.op) : trace_.text(e.name));
        if (e.unit != 0) title += " " + std::string(trace_.text(e.unit));
        buffer_ += std::string("{\"ph\":\"X\",\"cat\":\"") + (is_collective ? "collective" : "compute") +
                   "\",\"name\":" + json_string(title) + ",\"pid\":" + std::to_string(r) +
                   ",\"tid\":" + std::to_string(tid) + ",\"ts\":" + micros(e.t_begin_ns) +
                   ",\"dur\":" + micros(e.t_end_ns - e.t_begin_ns) +
                   ",\"args\":{\"event\":" + std::to_string(e.id) + ",\"Rank\":" + std::to_string(r) +
                   ",\"step\":" + std::to_string(e.step) + ",\"phase\":\"" + std::string(name(e.phase)) +
                   "\",\"microbatch\":" + std::to_string(e.microbatch) + ",\"unit\":" + quoted_[e.unit];
        if (is_collective)
            collective_args(r, e);
        else
            buffer_ += ",\"flops\":" + std::to_string(e.flops) +
                       ",\"touched_bytes\":" + std::to_string(e.touched_bytes);
        buffer_ += "}}";
    }

    void collective_args(std::size_t r, const Event& e) {
        buffer_ += ",\"Collective name\":\"" + std::string(kineto_name(e.op)) + "\",\"dtype\":\"" +
                   std::string(kineto_name(e.dtype)) +
                   "\",\"In msg nelems\":" + std::to_string(e.in_elements) +
                   ",\"Out msg nelems\":" + std::to_string(e.out_elements) + ",\"Process Group Name\":\"" +
                   std::to_string(e.group) + "\"" + group_args_[static_cast<std::size_t>(e.group)] +
                   ",\"Seq\":" + std::to_string(e.sequence);
        if (e.op == CollectiveOp::send || e.op == CollectiveOp::recv) {
            const auto here = static_cast<int32_t>(r);
            const bool sends = e.op == CollectiveOp::send;
            buffer_ += ",\"Src Rank\":" + std::to_string(sends ? here : e.peer) +
                       ",\"Dst Rank\":" + std::to_string(sends ? e.peer : here);
        } else if (e.peer >= 0) {
            buffer_ += ",\"Root Rank\":" + std::to_string(e.peer);
        }
        if (e.reduce_op != ReduceOp::none)
            buffer_ += ",\"Reduce op\":\"" + std::string(name(e.reduce_op)) + "\"";
        buffer_ += ",\"algorithm\":\"" + std::string(name(e.algorithm)) +
                   "\",\"bytes\":" + std::to_string(e.sent_bytes) +
                   ",\"padding\":" + std::to_string(e.padding) +
                   ",\"prefetch\":" + std::to_string(e.prefetch) + ",\"rule\":" + quoted_[e.rule] +
                   ",\"loc\":" + quoted_[e.source];
    }

    /// One counter a rank: bytes of every category that the rank ever used.
    void memory(std::size_t r) {
        std::array<int64_t, kMemoryCategories> bytes{};
        std::array<bool, kMemoryCategories> used{};
        for (const MemoryChange& m : trace_.ranks[r].memory)
            used[static_cast<std::size_t>(m.category)] = true;
        for (const MemoryChange& m : trace_.ranks[r].memory) {
            bytes[static_cast<std::size_t>(m.category)] += m.delta_bytes;
            begin_event();
            buffer_ += "{\"ph\":\"C\",\"name\":\"memory (bytes)\",\"pid\":" + std::to_string(r) +
                       ",\"tid\":0,\"ts\":" + micros(m.t_ns) + ",\"args\":{";
            const char* separator = "";
            for (std::size_t c = 0; c < bytes.size(); ++c) {
                if (!used[c]) continue;
                buffer_ += separator;
                buffer_ += "\"" + std::string(name(static_cast<MemoryCategory>(c))) +
                           "\":" + std::to_string(bytes[c]);
                separator = ",";
            }
            buffer_ += "}}";
        }
    }

    const Trace& trace_;
    const TextSink& out_;
    std::vector<std::string> quoted_;      ///< trace_.strings as JSON
    std::vector<std::string> group_args_;  ///< by group, begins with a comma
    std::string buffer_;
    bool first_ = true;
};

}  // namespace

void write_perfetto(const Trace& trace, const TextSink& out) {
    Exporter(trace, out).write();
}

void export_perfetto(const Trace& trace, const std::string& path, const std::function<void()>& go_on) {
    ReplaceFile file(path);
    write_perfetto(trace, [&](std::string_view text) {
        if (go_on) go_on();
        file.write(text);
    });
    file.commit();
}

}  // namespace meshscope::trace
