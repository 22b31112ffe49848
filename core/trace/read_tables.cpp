#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/trace/final_parameters.h"
#include "core/trace/hop_rows.h"
#include "core/trace/schema.h"
#include "core/trace/table_io.h"
#include "core/trace/tables.h"
#include "core/trace/words.h"

namespace meshscope::trace {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

/// The version that the header names; store.cpp has refused those that are newer than ours.
int32_t version_of(const sqlite::Database& database) {
    sqlite::Statement row(database, "PRAGMA user_version");
    return row.step() ? static_cast<int32_t>(row.integer(0)) : 0;
}

/// The schema is compared as text before any table is touched: a table could be a view that computes for
/// ever.
void check_schema(const sqlite::Database& database, int32_t version) {
    sqlite::Statement rows(database, "SELECT sql FROM sqlite_schema ORDER BY rowid");
    for (const std::string& expected : schema(version))
        if (!rows.step() || rows.text(0) != expected) throw Damage{"schema"};
    if (rows.step()) throw Damage{"schema"};
}

/// Reads one table after the other and holds each against its checksum.
class Reader {
  public:
    Reader(const sqlite::Database& database, int32_t version) : database_(database), version_(version) {}

    Trace read_all() {
        checksums();
        each_part(*this);
        return std::move(trace_);
    }

  private:
    template <class Parts>
    friend void trace::each_part(Parts& parts);

    template <class Row>
    void table(const std::string& name, const std::string& order, const Row& row) {
        TableReader rows(database_, name, order);
        while (rows.next_row()) row(rows);
        const auto [count, crc] = sums_[name];
        if (rows.sum().rows() != count || rows.sum().crc32c() != crc) rows.damaged();
    }

    void checksums() {
        TableReader rows(database_, "checksum", "section");
        while (rows.next_row()) {
            const std::string name(rows.text());
            const int64_t count = rows.integer();
            sums_[name] = {count, rows.integer()};
        }
        if (sums_.size() != sections(version_).size()) rows.damaged();
        for (const std::string& name : sections(version_))
            if (!sums_.contains(name)) rows.damaged();
    }

    void meta() {
        std::map<std::string, std::string> texts;
        std::map<std::string, int64_t> numbers;
        table("meta", "key", [&](TableReader& row) {
            const std::string key(row.text());
            if (key == "backend" || key == "engine_version" || key == "scenario" || key == "scenario_path" ||
                key == "title_en" || key == "title_zh" || key == "failure" || key == "parameters" ||
                key == "algorithm_file" || key == "algorithm_text")
                texts[key] = row.text();
            else
                numbers[key] = row.integer(0, kMaxInt32);
        });
        const std::size_t optional =
            (texts.contains("failure") ? 1U : 0U) + (texts.contains("parameters") ? 1U : 0U) +
            (texts.contains("algorithm_file") ? 1U : 0U) + (texts.contains("algorithm_text") ? 1U : 0U);
        if (texts.size() != 6 + optional || numbers.size() != 7) throw Damage{"meta"};
        const auto number = [&](const char* key) {
            const auto found = numbers.find(key);
            if (found == numbers.end()) throw Damage{"meta"};
            return found->second;
        };
        RunInfo& info = trace_.info;
        info.backend = texts["backend"];
        info.engine_version = texts["engine_version"];
        info.scenario = texts["scenario"];
        info.scenario_path = texts["scenario_path"];
        // Files are looked for beside it, and the system would take the part before a NUL for the whole name.
        if (info.scenario_path.find('\0') != std::string::npos) throw Damage{"meta"};
        info.title_en = texts["title_en"];
        info.title_zh = texts["title_zh"];
        if (texts.contains("algorithm_file")) info.algorithm_file = texts["algorithm_file"];
        if (texts.contains("algorithm_text")) info.algorithm_text = texts["algorithm_text"];
        if (texts.contains("failure")) info.failure = texts["failure"];
        if (texts.contains("parameters")) {
            auto parameters = parameters_from_json(texts["parameters"]);
            if (!parameters) throw Damage{"meta"};
            info.parameters = std::move(*parameters);
        }
        const int64_t level = number("level");
        if (level > static_cast<int64_t>(Level::values)) throw Damage{"meta"};
        info.level = static_cast<Level>(level);
        info.steps = static_cast<int32_t>(number("steps"));
        info.world_size = static_cast<int32_t>(number("world_size"));
        losses_ = number("losses");
        grad_norms_ = number("grad_norms");
        mesh_names_ = number("mesh_names");
        nodes_ = number("nodes");
    }

    void vocabulary() {
        table("word", "id", [&](TableReader& row) {
            if (row.integer() != static_cast<int64_t>(words_.size())) row.damaged();
            const std::string vocabulary(row.text());
            const std::string word(row.text());
            // A word that this version does not know stays unknown until a row uses it.
            std::pair<int, int> meaning{-1, -1};
            for (int v = 0; v < kVocabularies; ++v) {
                if (name(static_cast<Vocabulary>(v)) != vocabulary) continue;
                if (const auto value = value_of(static_cast<Vocabulary>(v), word)) meaning = {v, *value};
            }
            words_.push_back(meaning);
        });
    }

    template <class Enum>
    Enum word(TableReader& row, Vocabulary vocabulary) {
        const auto at = static_cast<std::size_t>(row.integer(0, static_cast<int64_t>(words_.size()) - 1));
        if (words_[at].first != static_cast<int>(vocabulary)) row.damaged();
        return static_cast<Enum>(words_[at].second);
    }

    void strings() {
        table("string", "id", [&](TableReader& row) {
            if (row.integer() != static_cast<int64_t>(trace_.strings.size())) row.damaged();
            trace_.strings.emplace_back(row.text());
        });
    }

    void mesh() {
        RunInfo& info = trace_.info;
        table("mesh_dim", "id", [&](TableReader& row) {
            if (row.integer() != static_cast<int64_t>(info.mesh_shape.size())) row.damaged();
            if (!row.null()) info.mesh_names.emplace_back(row.text());
            info.mesh_shape.push_back(row.integer(1, kMaxInt32));
        });
        if (static_cast<int64_t>(info.mesh_names.size()) != mesh_names_) throw Damage{"mesh_dim"};
        table("mesh_cell", "id", [&](TableReader& row) {
            if (row.integer() != static_cast<int64_t>(info.mesh_ranks.size())) row.damaged();
            info.mesh_ranks.push_back(row.int32());
        });
    }

    void groups() {
        table("process_group", "id", [&](TableReader& row) {
            if (row.integer() != static_cast<int64_t>(trace_.groups.size())) row.damaged();
            trace_.groups.push_back({std::string(row.text()), {}});
            row.skip();
            row.skip();
        });
        table("group_member", "group_id, group_rank", [&](TableReader& row) {
            const int64_t group = row.integer(0, static_cast<int64_t>(trace_.groups.size()) - 1);
            std::vector<int32_t>& ranks = trace_.groups[static_cast<std::size_t>(group)].ranks;
            if (row.integer() != static_cast<int64_t>(ranks.size())) row.damaged();
            ranks.push_back(row.int32());
        });
    }

    void steps() {
        RunInfo& info = trace_.info;
        int64_t steps = 0;
        const auto number = [](TableReader& row, int64_t step, int64_t count, std::vector<double>& list) {
            if (row.null()) {
                // NULL within the list is NaN: a loss that ran away.
                if (step < count) list.push_back(std::numeric_limits<double>::quiet_NaN());
            } else {
                if (step >= count) row.damaged();
                list.push_back(row.real());
            }
        };
        table("step_info", "id", [&](TableReader& row) {
            if (row.integer() != steps) row.damaged();
            number(row, steps, losses_, info.losses);
            number(row, steps, grad_norms_, info.grad_norms);
            for (int i = 0; i < 3; ++i) row.skip();
            ++steps;
        });
        if (steps != std::max({int64_t{info.steps}, losses_, grad_norms_})) throw Damage{"step_info"};
    }

    void rank_info() {
        RunInfo& info = trace_.info;
        table("rank_info", "id", [&](TableReader& row) {
            if (row.integer() != static_cast<int64_t>(trace_.ranks.size())) row.damaged();
            row.skip();
            row.skip();
            if (!row.null()) info.node_of_rank.push_back(row.int32());
            for (int i = 0; i < 6; ++i) row.skip();
            trace_.ranks.emplace_back();
        });
        if (static_cast<int64_t>(trace_.ranks.size()) != info.world_size ||
            static_cast<int64_t>(info.node_of_rank.size()) != nodes_)
            throw Damage{"rank_info"};
    }

    RankTrace& rank(TableReader& row) {
        return trace_
            .ranks[static_cast<std::size_t>(row.integer(0, static_cast<int64_t>(trace_.ranks.size()) - 1))];
    }
    StringId string(TableReader& row) {
        return static_cast<StringId>(row.integer(0, static_cast<int64_t>(trace_.strings.size()) - 1));
    }

    void events() {
        table("event", "rank, id", [&](TableReader& row) {
            std::vector<Event>& list = rank(row).events;
            Event e;
            e.id = row.int32();
            if (e.id != static_cast<int64_t>(list.size())) row.damaged();
            e.step = row.int32();
            e.kind = static_cast<EventKind>(row.integer(0, 1));
            e.stream = word<Stream>(row, Vocabulary::stream);
            e.phase = word<Phase>(row, Vocabulary::phase);
            e.op = word<CollectiveOp>(row, Vocabulary::op);
            e.reduce_op = word<ReduceOp>(row, Vocabulary::reduce_op);
            e.dtype = word<DType>(row, Vocabulary::dtype);
            e.algorithm = word<Algorithm>(row, Vocabulary::algorithm);
            e.prefetch = static_cast<uint8_t>(row.integer(0, 1));
            e.microbatch = row.int32();
            e.name = string(row);
            e.unit = string(row);
            e.rule = string(row);
            e.source = string(row);
            e.group = row.int32();
            e.sequence = row.int32();
            e.peer = row.int32();
            e.padding = row.integer();
            e.in_elements = row.integer();
            e.out_elements = row.integer();
            e.sent_bytes = row.integer();
            e.flops = row.integer();
            e.touched_bytes = row.integer();
            e.t_issue_ns = row.integer();
            e.t_begin_ns = row.integer();
            e.t_end_ns = row.integer();
            list.push_back(e);
        });
    }

    void dependencies() {
        table("dependency", "rank, ordinal", [&](TableReader& row) {
            std::vector<Dependency>& list = rank(row).dependencies;
            if (row.integer() != static_cast<int64_t>(list.size())) row.damaged();
            Dependency d;
            d.event = row.int32();
            d.on = row.int32();
            list.push_back(d);
        });
    }

    void hops() {
        table("hop_block", "rank, event", [&](TableReader& row) {
            std::vector<Hop>& list = rank(row).hops;
            const int32_t event = row.int32();
            const int64_t count = row.integer();
            const std::span<const std::byte> blob = row.blob();
            if (count < 1 || blob.size() % kHopBytes != 0 ||
                blob.size() / kHopBytes != static_cast<std::size_t>(count))
                row.damaged();
            for (std::size_t at = 0; at < blob.size(); at += kHopBytes)
                list.push_back(unpack_hop(blob.data() + at, event));
        });
    }

    /// Behind each other in the order of the hops, of which each says how many it has.
    void pieces() {
        if (version_ < 3) return;
        table("hop_piece", "rank, event, hop, ordinal", [&](TableReader& row) {
            RankTrace& of = rank(row);
            row.skip();
            row.skip();
            row.skip();
            HopPiece piece;
            piece.chunk = row.int32();
            piece.offset = row.integer();
            piece.elements = row.integer();
            of.pieces.push_back(piece);
        });
        for (RankTrace& each : trace_.ranks) {
            int64_t next = 0;
            for (Hop& hop : each.hops) {
                if (hop.n_pieces < 0) throw Damage{"hop_block"};
                hop.pieces = hop.n_pieces == 0 ? -1 : next;
                next += hop.n_pieces;
            }
        }
    }

    void snapshots() {
        table("snapshot", "rank, ordinal", [&](TableReader& row) {
            std::vector<Snapshot>& list = rank(row).snapshots;
            if (row.integer() != static_cast<int64_t>(list.size())) row.damaged();
            Snapshot s;
            s.event = row.int32();
            s.kind = static_cast<SnapshotKind>(row.integer(0, 1));
            s.values = row.integer();
            s.elements = row.integer();
            if (version_ >= 4) {
                s.operand = string(row);
                s.rows = row.integer();
                s.columns = row.integer();
            }
            list.push_back(s);
        });
    }

    void values() {
        snapshots();
        table("value_block", "rank, ordinal", [&](TableReader& row) {
            std::vector<float>& list = rank(row).values;
            row.skip();
            const std::span<const std::byte> blob = row.blob();
            if (blob.size() % 4 != 0) row.damaged();
            for (std::size_t at = 0; at < blob.size(); at += 4) {
                uint32_t bits = 0;
                for (std::size_t b = 0; b < 4; ++b)
                    bits |= std::to_integer<uint32_t>(blob[at + b]) << (8 * b);
                list.push_back(std::bit_cast<float>(bits));
            }
        });
    }

    void memory() {
        table("memory_change", "rank, ordinal", [&](TableReader& row) {
            std::vector<MemoryChange>& list = rank(row).memory;
            if (row.integer() != static_cast<int64_t>(list.size())) row.damaged();
            MemoryChange m;
            m.after_event = row.int32();
            m.step = row.int32();
            m.phase = word<Phase>(row, Vocabulary::phase);
            m.category = word<MemoryCategory>(row, Vocabulary::category);
            m.label = string(row);
            m.allocation = static_cast<uint64_t>(row.integer());
            m.delta_bytes = row.integer();
            row.skip();
            m.t_ns = row.integer();
            list.push_back(m);
        });
    }

    void parameters() {
        if (version_ < 2) return;  // nothing was recorded of it then
        table("parameter_run", "rank, ordinal", [&](TableReader& row) {
            std::vector<ParameterRun>& list = rank(row).parameters;
            if (row.integer() != static_cast<int64_t>(list.size())) row.damaged();
            ParameterRun p;
            p.parameter = string(row);
            p.unit = string(row);
            p.padding = static_cast<uint8_t>(row.integer(0, 1));
            p.updated = static_cast<uint8_t>(row.integer(0, 1));
            p.rows = row.integer();
            p.columns = row.integer();
            p.first_row = row.integer();
            p.n_rows = row.integer();
            p.first_column = row.integer();
            p.n_columns = row.integer();
            p.first = row.integer();
            p.elements = row.integer();
            p.first_in_shard = row.integer();
            list.push_back(p);
        });
    }

    const sqlite::Database& database_;
    int32_t version_;
    Trace trace_;
    std::map<std::string, std::pair<int64_t, int64_t>> sums_;  ///< table → rows, CRC-32C
    std::vector<std::pair<int, int>> words_;  ///< number → vocabulary, enumerator; -1 unknown
    int64_t losses_ = 0, grad_norms_ = 0, mesh_names_ = 0, nodes_ = 0;
};

}  // namespace

Trace read_tables(const sqlite::Database& database) {
    const int32_t version = version_of(database);
    check_schema(database, version);
    return Reader(database, version).read_all();
}

}  // namespace meshscope::trace
