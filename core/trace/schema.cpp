#include "core/trace/schema.h"

#include <algorithm>

namespace meshscope::trace {

// Tables are singular and hold numbers; views are plural and are for reading. docs/trace.md describes both.

namespace {

/// A statement, the version that brought it and the last that had it.
struct Statement {
    const char* sql;
    int32_t since = 1;
    int32_t until = kSchemaVersion;
};

const std::vector<Statement>& statements() {
    static const std::vector<Statement> kStatements{
        {"CREATE TABLE checksum(section TEXT PRIMARY KEY, row_count INTEGER, crc32c INTEGER) WITHOUT ROWID"},
        {"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID"},
        {"CREATE TABLE word(id INTEGER PRIMARY KEY, vocabulary TEXT, text TEXT)"},
        {"CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT)"},
        {"CREATE TABLE mesh_dim(id INTEGER PRIMARY KEY, name TEXT, size INTEGER)"},
        {"CREATE TABLE mesh_cell(id INTEGER PRIMARY KEY, rank INTEGER)"},
        {"CREATE TABLE process_group(id INTEGER PRIMARY KEY, mesh_dim TEXT, size INTEGER, ranks TEXT)"},
        {"CREATE TABLE group_member(group_id INTEGER, group_rank INTEGER, rank INTEGER, "
         "PRIMARY KEY(group_id, group_rank)) WITHOUT ROWID"},
        {"CREATE TABLE step_info(id INTEGER PRIMARY KEY, loss REAL, grad_norm REAL, collectives INTEGER, "
         "compute INTEGER, bytes INTEGER)"},
        {"CREATE TABLE rank_info(id INTEGER PRIMARY KEY, in_mesh INTEGER, coordinate TEXT, node INTEGER, "
         "events INTEGER, collectives INTEGER, bytes INTEGER, peak_bytes INTEGER, peak_step INTEGER, "
         "peak_ordinal INTEGER)"},
        {"CREATE TABLE event(rank INTEGER, id INTEGER, step INTEGER, kind INTEGER, stream INTEGER, phase "
         "INTEGER, "
         "op INTEGER, reduce_op INTEGER, dtype INTEGER, algorithm INTEGER, prefetch INTEGER, microbatch "
         "INTEGER, "
         "name INTEGER, unit INTEGER, rule INTEGER, source INTEGER, group_id INTEGER, sequence INTEGER, "
         "peer INTEGER, padding INTEGER, in_elements INTEGER, out_elements INTEGER, sent_bytes INTEGER, "
         "flops INTEGER, touched_bytes INTEGER, t_issue_ns INTEGER, t_begin_ns INTEGER, t_end_ns INTEGER, "
         "PRIMARY KEY(rank, id)) WITHOUT ROWID"},
        {"CREATE TABLE dependency(rank INTEGER, ordinal INTEGER, event INTEGER, on_event INTEGER, "
         "PRIMARY KEY(rank, ordinal)) WITHOUT ROWID"},
        {"CREATE TABLE hop_block(rank INTEGER, event INTEGER, hops INTEGER, data BLOB, "
         "PRIMARY KEY(rank, event)) WITHOUT ROWID"},
        {"CREATE TABLE hop_piece(rank INTEGER, event INTEGER, hop INTEGER, ordinal INTEGER, chunk INTEGER, "
         "offset INTEGER, elements INTEGER, PRIMARY KEY(rank, event, hop, ordinal)) WITHOUT ROWID",
         3},
        {"CREATE TABLE snapshot(rank INTEGER, ordinal INTEGER, event INTEGER, kind INTEGER, first_value "
         "INTEGER, "
         "elements INTEGER, PRIMARY KEY(rank, ordinal)) WITHOUT ROWID",
         1, 3},
        {"CREATE TABLE snapshot(rank INTEGER, ordinal INTEGER, event INTEGER, kind INTEGER, first_value "
         "INTEGER, elements INTEGER, operand INTEGER, \"rows\" INTEGER, columns INTEGER, "
         "PRIMARY KEY(rank, ordinal)) WITHOUT ROWID",
         4},
        {"CREATE TABLE value_block(rank INTEGER, ordinal INTEGER, data BLOB, PRIMARY KEY(rank, ordinal)) "
         "WITHOUT ROWID"},
        {"CREATE TABLE memory_change(rank INTEGER, ordinal INTEGER, after_event INTEGER, step INTEGER, "
         "phase INTEGER, category INTEGER, label INTEGER, allocation INTEGER, delta_bytes INTEGER, "
         "total_bytes INTEGER, t_ns INTEGER, PRIMARY KEY(rank, ordinal)) WITHOUT ROWID"},
        {"CREATE TABLE parameter_run(rank INTEGER, ordinal INTEGER, parameter INTEGER, unit INTEGER, padding "
         "INTEGER, updated INTEGER, \"rows\" INTEGER, columns INTEGER, first_row INTEGER, n_rows INTEGER, "
         "first_column INTEGER, n_columns INTEGER, first INTEGER, elements INTEGER, first_in_shard INTEGER, "
         "PRIMARY KEY(rank, ordinal)) WITHOUT ROWID",
         2},
        {"CREATE VIEW collectives AS SELECT e.id AS id, e.rank AS rank, e.step AS step, "
         "(SELECT text FROM word WHERE id = e.phase) AS phase, (SELECT text FROM word WHERE id = e.op) AS "
         "op, "
         "(SELECT text FROM word WHERE id = e.reduce_op) AS reduce_op, g.mesh_dim AS mesh_dim, "
         "g.ranks AS group_ranks, g.size AS group_size, e.group_id AS group_id, e.sequence AS sequence, "
         "e.in_elements AS in_elements, e.out_elements AS out_elements, "
         "(SELECT text FROM word WHERE id = e.dtype) AS dtype, e.sent_bytes AS bytes, "
         "(SELECT text FROM word WHERE id = e.algorithm) AS algorithm, "
         "coalesce((SELECT b.hops FROM hop_block b WHERE b.rank = e.rank AND b.event = e.id), 0) AS hops, "
         "(SELECT text FROM string WHERE id = e.unit) AS unit, (SELECT text FROM string WHERE id = e.rule) "
         "AS "
         "rule, "
         "e.prefetch AS prefetch, e.microbatch AS microbatch, nullif(e.peer, -1) AS peer, e.padding AS "
         "padding, "
         "(SELECT text FROM word WHERE id = e.stream) AS stream, e.t_issue_ns AS t_issue_ns, "
         "e.t_begin_ns AS t_begin_ns, e.t_end_ns AS t_end_ns, (SELECT text FROM string WHERE id = e.source) "
         "AS source "
         "FROM event e LEFT JOIN process_group g ON g.id = e.group_id WHERE e.kind = 1"},
        {"CREATE VIEW compute AS SELECT e.id AS id, e.rank AS rank, e.step AS step, "
         "(SELECT text FROM word WHERE id = e.phase) AS phase, (SELECT text FROM string WHERE id = e.name) "
         "AS "
         "name, "
         "(SELECT text FROM string WHERE id = e.unit) AS unit, e.microbatch AS microbatch, e.flops AS flops, "
         "e.touched_bytes AS touched_bytes, (SELECT text FROM word WHERE id = e.stream) AS stream, "
         "e.t_issue_ns AS t_issue_ns, e.t_begin_ns AS t_begin_ns, e.t_end_ns AS t_end_ns "
         "FROM event e WHERE e.kind = 0"},
        {"CREATE VIEW hops AS SELECT b.rank AS rank, b.event AS collective, h.ordinal AS ordinal, h.round AS "
         "round, "
         "h.src AS src, h.dst AS dst, h.chunk AS chunk, h.bytes AS bytes, h.offset AS offset, "
         "h.elements AS elements, h.reduces AS reduces, h.t_begin_ns AS t_begin_ns, h.t_end_ns AS t_end_ns "
         "FROM hop_block b, hop_rows(b.data) h"},
        {"CREATE VIEW hop_pieces AS SELECT rank, event AS collective, hop, ordinal, chunk, "
         "nullif(offset, -1) AS offset, elements FROM hop_piece",
         3},
        {"CREATE VIEW memory AS SELECT m.rank AS rank, m.ordinal AS ordinal, m.step AS step, "
         "(SELECT text FROM word WHERE id = m.phase) AS phase, "
         "(SELECT text FROM word WHERE id = m.category) AS category, "
         "(SELECT text FROM string WHERE id = m.label) AS label, m.allocation AS allocation, "
         "m.delta_bytes AS delta_bytes, m.total_bytes AS total_bytes, nullif(m.after_event, -1) AS "
         "after_event, "
         "m.t_ns AS t_ns FROM memory_change m"},
        {"CREATE VIEW ranks AS SELECT id AS rank, coordinate, in_mesh, node, events, collectives, bytes, "
         "peak_bytes, "
         "peak_step, peak_ordinal FROM rank_info"},
        {"CREATE VIEW steps AS SELECT id AS step, loss, grad_norm, collectives, compute, bytes FROM "
         "step_info"},
        {"CREATE VIEW losses AS SELECT id AS step, loss FROM step_info WHERE loss IS NOT NULL"},
        {"CREATE VIEW groups AS SELECT id, mesh_dim, ranks, size FROM process_group"},
        {"CREATE VIEW dependencies AS SELECT rank, event, on_event FROM dependency"},
        {"CREATE VIEW parameters AS SELECT p.rank AS rank, p.ordinal AS ordinal, "
         "(SELECT text FROM string WHERE id = p.parameter) AS parameter, "
         "(SELECT text FROM string WHERE id = p.unit) AS unit, p.\"rows\" AS \"rows\", p.columns AS columns, "
         "p.first_row AS first_row, p.n_rows AS n_rows, p.first_column AS first_column, p.n_columns AS "
         "n_columns, p.first AS first, p.elements AS elements, p.first_in_shard AS first_in_shard, p.padding "
         "AS padding, p.updated AS updated FROM parameter_run p",
         2},
    };
    return kStatements;
}

}  // namespace

std::vector<std::string> schema(int32_t version) {
    std::vector<std::string> all;
    for (const Statement& statement : statements())
        if (statement.since <= version && version <= statement.until) all.emplace_back(statement.sql);
    return all;
}

std::vector<std::string> sections(int32_t version) {
    std::vector<std::string> names{"meta",      "word",          "string",       "mesh_dim",
                                   "mesh_cell", "process_group", "group_member", "step_info",
                                   "rank_info", "event",         "dependency",   "hop_block",
                                   "snapshot",  "value_block",   "memory_change"};
    if (version >= 2) names.emplace_back("parameter_run");
    if (version >= 3) names.insert(std::ranges::find(names, "hop_block") + 1, "hop_piece");
    return names;
}

}  // namespace meshscope::trace
