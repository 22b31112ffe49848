#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/replace_file.h"
#include "core/base/text.h"
#include "core/trace/export.h"

namespace meshscope::trace {
namespace {

/// View and the order of its rows.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kViews{
    {{"collectives", "rank, id"},
     {"compute", "rank, id"},
     {"hops", "rank, collective, ordinal"},
     {"memory", "rank, ordinal"},
     {"parameters", "rank, ordinal"}}};

void append_field(std::string& line, std::string_view field) {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
        line += field;
        return;
    }
    line += '"';
    for (const char c : field) {
        if (c == '"') line += '"';
        line += c;
    }
    line += '"';
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) line += ',';
        append_field(line, printable(fields[i], "\n\t"));
    }
    return line + "\r\n";
}

void write_csv(const TraceDatabase& database, std::string_view view, const TextSink& out) {
    std::string known_views;
    for (const auto& [known, order] : kViews) {
        known_views += (known_views.empty() ? "" : ", ") + std::string(known);
        if (known != view) continue;
        std::vector<std::string> fields;
        database.query(
            "SELECT * FROM " + std::string(view) + " ORDER BY " + std::string(order), generous_limits(),
            [&](const std::vector<std::string>& columns) { out(csv_line(columns)); },
            [&](const std::vector<Cell>& row) {
                fields.clear();
                for (const Cell& cell : row) fields.push_back(to_text(cell));
                out(csv_line(fields));
            });
        return;
    }
    throw InvalidArgument(
        Message{"export.unknown_table", {{"name", std::string(view)}, {"known", known_views}}});
}

void export_csv(const TraceDatabase& database, std::string_view view, const std::string& path,
                const std::function<void()>& go_on) {
    ReplaceFile file(path);
    std::string buffer;
    write_csv(database, view, [&](std::string_view text) {
        buffer += text;
        if (buffer.size() < (1U << 20)) return;
        if (go_on) go_on();
        file.write(buffer);
        buffer.clear();
    });
    if (go_on) go_on();
    file.write(buffer);
    file.commit();
}

}  // namespace meshscope::trace
