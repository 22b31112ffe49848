#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "core/trace/excerpt.h"
#include "core/trace/final_parameters.h"
#include "core/trace/hop_rows.h"
#include "core/trace/of_training.h"
#include "core/trace/recorded.h"
#include "core/trace/schema.h"
#include "core/trace/table_io.h"
#include "core/trace/tables.h"
#include "core/trace/words.h"

namespace meshscope::trace {
namespace {

/// What a change adds to the device's memory: offloaded tensors are the host's.
int64_t on_device(const MemoryChange& change) {
    return change.category == MemoryCategory::offloaded ? 0 : change.delta_bytes;
}

template <class T>
std::string json_list(const std::vector<T>& numbers) {
    std::string text = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(numbers[i]);
    }
    return text + "]";
}

/// Writes one table after the other and remembers their checksums.
class Writer {
  public:
    Writer(sqlite::Database& database, const Trace& trace)
        : database_(database), trace_(trace), words_(word_numbers()) {}

    void write_all() {
        for (const std::string& statement : schema()) database_.exec(statement);
        each_part(*this);
        checksums();
    }

  private:
    template <class Parts>
    friend void trace::each_part(Parts& parts);

    template <class Fill>
    void table(const std::string& name, int columns, const Fill& fill) {
        TableWriter rows(database_, name, columns);
        fill(rows);
        sums_[name] = {rows.sum().rows(), rows.sum().crc32c()};
    }

    template <class Enum>
    int64_t word(Vocabulary vocabulary, Enum value) const {
        return words_[static_cast<std::size_t>(vocabulary)][static_cast<std::size_t>(value)];
    }

    void meta() {
        const RunInfo& info = trace_.info;
        // In the order of the keys: a table's checksum runs in primary-key order.
        std::map<std::string, std::string> texts{
            {"backend", info.backend},   {"engine_version", info.engine_version},
            {"scenario", info.scenario}, {"scenario_path", info.scenario_path},
            {"title_en", info.title_en}, {"title_zh", info.title_zh},
        };
        if (!info.algorithm_text.empty()) {
            texts["algorithm_file"] = info.algorithm_file;
            texts["algorithm_text"] = info.algorithm_text;
        }
        if (!info.failure.empty()) texts["failure"] = info.failure;
        if (!info.parameters.empty()) texts["parameters"] = parameters_json(info.parameters);
        const std::map<std::string, int64_t> numbers{
            {"grad_norms", static_cast<int64_t>(info.grad_norms.size())},
            {"level", static_cast<int64_t>(info.level)},
            {"losses", static_cast<int64_t>(info.losses.size())},
            {"mesh_names", static_cast<int64_t>(info.mesh_names.size())},
            {"nodes", static_cast<int64_t>(info.node_of_rank.size())},
            {"steps", info.steps},
            {"world_size", info.world_size},
        };
        table("meta", 2, [&](TableWriter& rows) {
            auto text = texts.begin();
            auto number = numbers.begin();
            while (text != texts.end() || number != numbers.end()) {
                if (number == numbers.end() || (text != texts.end() && text->first < number->first)) {
                    rows.add(std::string_view(text->first)).add(std::string_view(text->second)).end_row();
                    ++text;
                } else {
                    rows.add(std::string_view(number->first)).add(number->second).end_row();
                    ++number;
                }
            }
        });
    }

    void vocabulary() {
        table("word", 3, [&](TableWriter& rows) {
            int64_t id = 0;
            for (const Word& w : all_words())
                rows.add(id++).add(name(w.vocabulary)).add(word_of(w.vocabulary, w.value)).end_row();
        });
    }

    void strings() {
        table("string", 2, [&](TableWriter& rows) {
            int64_t id = 0;
            for (const std::string& text : trace_.strings)
                rows.add(id++).add(std::string_view(text)).end_row();
        });
    }

    void mesh() {
        const RunInfo& info = trace_.info;
        table("mesh_dim", 3, [&](TableWriter& rows) {
            for (std::size_t d = 0; d < info.mesh_shape.size(); ++d) {
                rows.add(static_cast<int64_t>(d));
                if (d < info.mesh_names.size())
                    rows.add(std::string_view(info.mesh_names[d]));
                else
                    rows.null();
                rows.add(info.mesh_shape[d]).end_row();
            }
        });
        table("mesh_cell", 2, [&](TableWriter& rows) {
            int64_t id = 0;
            for (const int32_t rank : info.mesh_ranks) rows.add(id++).add(int64_t{rank}).end_row();
        });
    }

    void groups() {
        table("process_group", 4, [&](TableWriter& rows) {
            int64_t id = 0;
            for (const Group& group : trace_.groups)
                rows.add(id++)
                    .add(std::string_view(group.mesh_dim))
                    .add(static_cast<int64_t>(group.ranks.size()))
                    .add(std::string_view(json_list(group.ranks)))
                    .end_row();
        });
        table("group_member", 3, [&](TableWriter& rows) {
            for (std::size_t g = 0; g < trace_.groups.size(); ++g)
                for (std::size_t i = 0; i < trace_.groups[g].ranks.size(); ++i)
                    rows.add(static_cast<int64_t>(g))
                        .add(static_cast<int64_t>(i))
                        .add(int64_t{trace_.groups[g].ranks[i]})
                        .end_row();
        });
    }

    void steps() {
        const RunInfo& info = trace_.info;
        struct Sums {
            int64_t collectives = 0, compute = 0, bytes = 0;
        };
        std::map<int32_t, Sums> sums;
        for (const RankTrace& rank : trace_.ranks) {
            for (const Event& e : rank.events) {
                if (!is_of_training(e)) continue;
                Sums& s = sums[e.step];
                (e.kind == EventKind::collective ? s.collectives : s.compute) += 1;
                s.bytes += e.sent_bytes;
            }
        }
        const int64_t recorded = first_recorded_step(trace_);
        const std::optional<StepRange> part = excerpt_of(trace_);
        const std::vector<int32_t> missing = unrecorded_ranks(trace_);
        const auto count =
            std::max({static_cast<std::size_t>(info.steps), info.losses.size(), info.grad_norms.size()});
        table("step_info", 6, [&](TableWriter& rows) {
            for (std::size_t i = 0; i < count; ++i) {
                rows.add(static_cast<int64_t>(i));
                i < info.losses.size() ? rows.add(info.losses[i]) : rows.null();
                i < info.grad_norms.size() ? rows.add(info.grad_norms[i]) : rows.null();
                if (info.level == Level::off || static_cast<int64_t>(i) < recorded ||
                    (part && static_cast<int64_t>(i) >= part->end) || !missing.empty()) {
                    rows.null().null().null().end_row();  // unknown is not zero
                    continue;
                }
                const Sums s =
                    sums.contains(static_cast<int32_t>(i)) ? sums[static_cast<int32_t>(i)] : Sums{};
                rows.add(s.collectives).add(s.compute).add(s.bytes).end_row();
            }
        });
    }

    /// A rank's place in the mesh as "[1, 0]", row-major; ranks outside have none.
    std::vector<std::string> coordinates() const {
        const RunInfo& info = trace_.info;
        std::vector<std::string> all(trace_.ranks.size());
        for (std::size_t cell = 0; cell < info.mesh_ranks.size(); ++cell) {
            std::vector<int64_t> coordinate(info.mesh_shape.size());
            auto rest = static_cast<int64_t>(cell);
            for (std::size_t d = info.mesh_shape.size(); d-- > 0; rest /= info.mesh_shape[d])
                coordinate[d] = rest % info.mesh_shape[d];
            all[static_cast<std::size_t>(info.mesh_ranks[cell])] = json_list(coordinate);
        }
        return all;
    }

    void rank_info() {
        const std::vector<std::string> coordinate = coordinates();
        const std::vector<int32_t> missing = unrecorded_ranks(trace_);
        table("rank_info", 10, [&](TableWriter& rows) {
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                const RankTrace& rank = trace_.ranks[r];
                int64_t number_of_collectives = 0, bytes = 0;
                for (const Event& e : rank.events) {
                    number_of_collectives += e.kind == EventKind::collective ? 1 : 0;
                    bytes += e.sent_bytes;
                }
                int64_t total = 0, peak = 0, peak_step = -1, peak_ordinal = -1;
                for (std::size_t i = 0; i < rank.memory.size(); ++i) {
                    total += on_device(rank.memory[i]);
                    if (total <= peak) continue;
                    peak = total;
                    peak_step = rank.memory[i].step;
                    peak_ordinal = static_cast<int64_t>(i);
                }
                rows.add(static_cast<int64_t>(r)).add(int64_t{coordinate[r].empty() ? 0 : 1});
                coordinate[r].empty() ? rows.null() : rows.add(std::string_view(coordinate[r]));
                const std::vector<int32_t>& node = trace_.info.node_of_rank;
                node.empty() ? rows.null() : rows.add(int64_t{node[r]});
                if (trace_.info.level == Level::off ||
                    std::ranges::binary_search(missing, static_cast<int32_t>(r)))
                    rows.null().null().null().null();
                else
                    rows.add(static_cast<int64_t>(rank.events.size()))
                        .add(number_of_collectives)
                        .add(bytes)
                        .add(peak);
                peak_ordinal < 0 ? rows.null().null() : rows.add(peak_step).add(peak_ordinal);
                rows.end_row();
            }
        });
    }

    void events() {
        table("event", 28, [&](TableWriter& rows) {
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                for (const Event& e : trace_.ranks[r].events) {
                    rows.add(static_cast<int64_t>(r)).add(int64_t{e.id}).add(int64_t{e.step});
                    rows.add(static_cast<int64_t>(e.kind)).add(word(Vocabulary::stream, e.stream));
                    rows.add(word(Vocabulary::phase, e.phase)).add(word(Vocabulary::op, e.op));
                    rows.add(word(Vocabulary::reduce_op, e.reduce_op)).add(word(Vocabulary::dtype, e.dtype));
                    rows.add(word(Vocabulary::algorithm, e.algorithm)).add(int64_t{e.prefetch});
                    rows.add(int64_t{e.microbatch})
                        .add(int64_t{e.name})
                        .add(int64_t{e.unit})
                        .add(int64_t{e.rule});
                    rows.add(int64_t{e.source})
                        .add(int64_t{e.group})
                        .add(int64_t{e.sequence})
                        .add(int64_t{e.peer});
                    rows.add(e.padding).add(e.in_elements).add(e.out_elements).add(e.sent_bytes);
                    rows.add(e.flops)
                        .add(e.touched_bytes)
                        .add(e.t_issue_ns)
                        .add(e.t_begin_ns)
                        .add(e.t_end_ns);
                    rows.end_row();
                }
            }
        });
    }

    /// One row for each element of a list that every rank has, with the element's place.
    template <class List, class Fill>
    void by_rank(const std::string& name, int columns, List RankTrace::*list, const Fill& fill) {
        table(name, columns, [&](TableWriter& rows) {
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                int64_t ordinal = 0;
                for (const auto& item : trace_.ranks[r].*list) {
                    rows.add(static_cast<int64_t>(r)).add(ordinal++);
                    fill(rows, item);
                    rows.end_row();
                }
            }
        });
    }

    void dependencies() {
        by_rank("dependency", 4, &RankTrace::dependencies, [](TableWriter& rows, const Dependency& d) {
            rows.add(int64_t{d.event}).add(int64_t{d.on});
        });
    }

    void hops() {
        table("hop_block", 4, [&](TableWriter& rows) {
            std::vector<std::byte> blob;
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                const std::span<const Hop> all(trace_.ranks[r].hops);
                for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
                    while (end < all.size() && all[end].event == all[begin].event) ++end;
                    blob.clear();
                    pack_hops(all.subspan(begin, end - begin), blob);
                    rows.add(static_cast<int64_t>(r)).add(int64_t{all[begin].event});
                    rows.add(static_cast<int64_t>(end - begin))
                        .add(std::span<const std::byte>(blob))
                        .end_row();
                }
            }
        });
    }

    void pieces() {
        table("hop_piece", 7, [&](TableWriter& rows) {
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                int64_t hop = 0;
                int32_t event = -1;
                for (const Hop& h : trace_.ranks[r].hops) {
                    hop = h.event == event ? hop + 1 : 0;
                    event = h.event;
                    for (int64_t i = 0; i < h.n_pieces; ++i) {
                        const HopPiece& piece =
                            trace_.ranks[r].pieces[static_cast<std::size_t>(h.pieces + i)];
                        rows.add(static_cast<int64_t>(r)).add(int64_t{event}).add(hop).add(i);
                        rows.add(int64_t{piece.chunk}).add(piece.offset).add(piece.elements).end_row();
                    }
                }
            }
        });
    }

    void values() {
        by_rank("snapshot", 9, &RankTrace::snapshots, [](TableWriter& rows, const Snapshot& s) {
            rows.add(int64_t{s.event}).add(static_cast<int64_t>(s.kind)).add(s.values).add(s.elements);
            rows.add(int64_t{s.operand}).add(s.rows).add(s.columns);
        });
        table("value_block", 3, [&](TableWriter& rows) {
            std::vector<std::byte> blob;
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                const std::vector<float>& all = trace_.ranks[r].values;
                int64_t ordinal = 0;
                for (std::size_t begin = 0; begin < all.size(); begin += kValuesABlock) {
                    const std::size_t end = std::min(all.size(), begin + kValuesABlock);
                    blob.clear();
                    for (std::size_t i = begin; i < end; ++i) {
                        auto bits = std::bit_cast<uint32_t>(all[i]);
                        for (int b = 0; b < 4; ++b, bits >>= 8)
                            blob.push_back(static_cast<std::byte>(bits & 0xFFU));
                    }
                    rows.add(static_cast<int64_t>(r)).add(ordinal++);
                    rows.add(std::span<const std::byte>(blob)).end_row();
                }
            }
        });
    }

    void memory() {
        table("memory_change", 11, [&](TableWriter& rows) {
            for (std::size_t r = 0; r < trace_.ranks.size(); ++r) {
                int64_t total = 0, ordinal = 0;
                for (const MemoryChange& m : trace_.ranks[r].memory) {
                    total += on_device(m);
                    rows.add(static_cast<int64_t>(r))
                        .add(ordinal++)
                        .add(int64_t{m.after_event})
                        .add(int64_t{m.step});
                    rows.add(word(Vocabulary::phase, m.phase)).add(word(Vocabulary::category, m.category));
                    rows.add(int64_t{m.label}).add(static_cast<int64_t>(m.allocation)).add(m.delta_bytes);
                    rows.add(total).add(m.t_ns).end_row();
                }
            }
        });
    }

    void parameters() {
        by_rank("parameter_run", 15, &RankTrace::parameters, [](TableWriter& rows, const ParameterRun& p) {
            rows.add(int64_t{p.parameter}).add(int64_t{p.unit});
            rows.add(int64_t{p.padding}).add(int64_t{p.updated});
            rows.add(p.rows).add(p.columns).add(p.first_row).add(p.n_rows);
            rows.add(p.first_column).add(p.n_columns).add(p.first).add(p.elements).add(p.first_in_shard);
        });
    }

    void checksums() {
        TableWriter rows(database_, "checksum", 3);
        std::vector<std::string> names = sections();
        std::sort(names.begin(), names.end());
        for (const std::string& name : names)
            rows.add(std::string_view(name))
                .add(sums_[name].first)
                .add(int64_t{sums_[name].second})
                .end_row();
    }

    sqlite::Database& database_;
    const Trace& trace_;
    std::array<std::vector<int64_t>, kVocabularies> words_;
    std::map<std::string, std::pair<int64_t, uint32_t>> sums_;  ///< table → rows, CRC-32C
};

}  // namespace

void write_tables(sqlite::Database& database, const Trace& trace) {
    database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
    database.exec("PRAGMA user_version = " + std::to_string(kSchemaVersion));
    database.exec("BEGIN");
    Writer(database, trace).write_all();
    database.exec("COMMIT");
}

}  // namespace meshscope::trace
