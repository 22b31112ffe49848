#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/mesh_question.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

struct Column {
    std::string head;
    Token hue = Token::text;
    Face face = Face::mono;
    std::vector<std::string>
        cells;  // one a rank; of some columns a shorter spelling where the full one is too wide
    std::vector<std::string> shorts;
    bool use_short = false;
    float width = 0;
};

std::string tuple_text(const std::vector<int64_t>& values) {
    return format_tuple(values);
}

// "2×2 · 1–7": the slice's shape and its span, where the nested list is too long.
std::string span_text(const mesh::Answer& answer) {
    std::string out;
    for (std::size_t d = 0; d < answer.shape.size(); ++d)
        out += (d ? "×" : "") + std::to_string(answer.shape[d]);
    if (answer.ranks.empty()) return out;
    const auto [low, high] = std::minmax_element(answer.ranks.begin(), answer.ranks.end());
    return out + " · " + std::to_string(*low) + "–" + std::to_string(*high);
}

// "0–12 by 4": a group's ranks where the list is too long and their steps are equal.
std::string group_span(const Painter& p, const std::vector<int64_t>& ranks) {
    if (ranks.size() < 3) return format_list(ranks);
    const int64_t step = ranks[1] - ranks[0];
    for (std::size_t i = 1; i < ranks.size(); ++i)
        if (ranks[i] - ranks[i - 1] != step) return format_list(ranks);
    if (step == 1) return std::to_string(ranks.front()) + "–" + std::to_string(ranks.back());
    return p.say("view.mesh.span",
                 {arg("first", ranks.front()), arg("last", ranks.back()), arg("step", step)});
}

class Table {
  public:
    Table(const Input& input, const MeshOptions& options)
        : in_(input), p_(input), q_(mesh_question(input, options)), covered_(options.covered) {}

    Picture draw() {
        float y = 10;
        const float pad = 24, right = in_.size.width - pad;
        p_.layer = 2;
        const std::string title =
            p_.say(q_.expression.empty() ? "view.mesh.table.whole" : "view.mesh.table.title");
        p_.text(title, {pad, y}, Face::body, Token::text);
        const float after = pad + p_.width(title, Face::body) + 24;
        const std::vector<MessageArg> args{arg("ranks", static_cast<int64_t>(q_.ranks.size())),
                                           arg("expression", q_.expression)};
        const std::string note =
            q_.expression.empty()
                ? ""
                : p_.fit({p_.say("view.mesh.table.note", args), q_.expression}, Face::caption, right - after);
        if (!note.empty()) p_.text(note, {right, y + 1}, Face::caption, Token::mute, Align::right);
        p_.tell(title + (q_.expression.empty() ? "" : " · " + q_.expression));
        y += p_.line_height(Face::body) + 8;
        if (q_.error) {
            y = mesh_error(p_, *q_.error, {pad, y}, std::min(right - pad, 620.F));
        } else if (q_.mesh) {
            columns();
            y = rows(y);
        }
        Picture picture = p_.take();
        picture.height = picture.content_height = std::max(in_.size.height, y + 16);
        return picture;
    }

  private:
    void columns() {
        const auto& shown = q_.slice ? *q_.slice : *q_.mesh;
        const mesh::Derived whole{{}, {shown}, std::nullopt};
        Column rank, where, nested, local;
        rank.head = p_.say("view.mesh.column.rank");
        where.head = p_.say("view.mesh.column.coordinate");
        nested.head = p_.say(q_.slice ? "view.mesh.column.slice" : "view.mesh.column.mesh");
        local.head = p_.say("view.mesh.column.local");
        std::vector<Column> groups(static_cast<std::size_t>(shown.ndim()));
        for (std::size_t d = 0; d < groups.size(); ++d) {
            const std::string name = d < shown.names().size() ? shown.names()[d] : "dim " + std::to_string(d);
            const auto at = std::find(q_.names.begin(), q_.names.end(), name);
            groups[d].hue =
                at == q_.names.end() ? Token::text : q_.hue(static_cast<std::size_t>(at - q_.names.begin()));
            groups[d].head = p_.say("view.mesh.column.group", {arg("dim", name)});
        }
        // Ranks of one sheet read the same nested list: it is made once.
        for (std::size_t i = 0; i < q_.ranks.size(); ++i) {
            const auto r = q_.ranks[i];
            rank.cells.push_back(std::to_string(r));
            where.cells.push_back(tuple_text(mesh_coordinate(q_.shape, static_cast<int64_t>(i))));
            const auto reply = mesh::reply(whole, GlobalRank{static_cast<int32_t>(r)});
            const auto* a = reply.answer ? &*reply.answer : nullptr;
            const bool guess = covered_ && q_.slice;
            nested.cells.push_back(guess ? "?" : a ? mesh::nested_text(*a) : "");
            nested.shorts.push_back(guess ? "?" : a ? span_text(*a) : "");
            local.cells.push_back(a && a->coordinate ? tuple_text(*a->coordinate) : "");
            for (std::size_t d = 0; d < groups.size(); ++d) {
                const bool has = a && d < a->groups.size();
                groups[d].cells.push_back(covered_ ? "?" : has ? format_list(a->groups[d]) : "");
                groups[d].shorts.push_back(covered_ ? "?" : has ? group_span(p_, a->groups[d]) : "");
            }
        }
        columns_ = {rank, where, nested};
        for (auto& g : groups) columns_.push_back(g);
        columns_.push_back(local);
        fit_columns();
    }

    void measure(Column& c) const {
        c.width = p_.width(c.head, Face::caption);
        for (const auto& cell : c.use_short ? c.shorts : c.cells)
            c.width = std::max(c.width, p_.width(cell, c.face));
    }
    float total() const {
        float sum = 0;
        for (const auto& c : columns_) sum += c.width;
        return sum;
    }
    // The widest columns take their short spelling first; then smaller figures; then columns go from the
    // right, the local coordinate first, since the others say it too.
    void fit_columns() {
        const float room = in_.size.width - 48;
        for (auto& c : columns_) measure(c);
        const auto gaps = [&] { return 20.F * static_cast<float>(columns_.size() - 1) + you_room(); };
        while (total() + gaps() > room) {
            Column* widest = nullptr;
            for (auto& c : columns_)
                if (!c.shorts.empty() && !c.use_short && (!widest || c.width > widest->width)) widest = &c;
            if (!widest) break;
            widest->use_short = true;
            measure(*widest);
        }
        if (total() + gaps() > room)
            for (auto& c : columns_) {
                c.face = Face::mono_small;
                measure(c);
            }
        while (total() + gaps() > room && columns_.size() > 3) columns_.pop_back();
    }
    float you_room() const { return p_.width(p_.say("view.you"), Face::caption) + 24; }

    float rows(float y) {
        const float pad = 24, line = p_.line_height(Face::caption),
                    height = std::max(36.F, p_.line_height(Face::mono) + 8);
        const float spare = std::max(0.F, in_.size.width - 48 - total() - you_room()) /
                            static_cast<float>(std::max<std::size_t>(1, columns_.size() - 1));
        std::vector<float> x;
        float at = pad;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            x.push_back(at);
            at += columns_[c].width + std::min(spare, 64.F) + (c == 0 ? you_room() : 0.F);
        }
        p_.layer = 2;
        for (std::size_t c = 0; c < columns_.size(); ++c)
            p_.text(columns_[c].head, {x[c], y}, Face::caption, Token::mute);
        y += line + 6;
        p_.layer = 0;
        p_.line({pad, y + 0.5F}, {in_.size.width - pad, y + 0.5F}, Token::line);
        y += 4;
        for (std::size_t i = 0; i < q_.ranks.size(); ++i, y += height) row(i, y, height, x);
        return y;
    }

    void row(std::size_t i, float y, float height, const std::vector<float>& x) {
        const int64_t rank = q_.ranks[i];
        const bool asking = rank == q_.asking;
        const auto mine = q_.index_of(q_.asking);
        bool bright = !q_.sliced || mine < 0;
        if (!bright) {
            const auto a = mesh_coordinate(q_.shape, static_cast<int64_t>(i)),
                       b = mesh_coordinate(q_.shape, mine);
            bright = true;
            for (std::size_t d = 0; d < a.size(); ++d)
                if (std::find(q_.kept.begin(), q_.kept.end(), d) == q_.kept.end() && a[d] != b[d])
                    bright = false;
        }
        const Id id{"rank", rank};
        p_.layer = 1;
        auto& back = p_.rect({12, y + 1, in_.size.width - 24, height - 2},
                             asking ? Token::accentbg : Token::none, 8, id);
        const bool chosen = in_.selection.rank && *in_.selection.rank == rank;
        back.stroke = chosen ? Token::sel : asking ? Token::accent : Token::none;
        back.width = chosen ? 2.F : 1.4F;
        p_.layer = 2;
        std::string told;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const auto& column = columns_[c];
            const std::string& words = column.use_short ? column.shorts[i] : column.cells[i];
            told += (c ? "  " : "") + (column.cells[i].empty() ? "–" : column.cells[i]);
            const Token tone = !bright ? Token::mute : column.hue;
            p_.label({x[c], y, column.width, height}, words, column.face, tone, Token::none,
                     {"cell", rank, static_cast<int64_t>(c)}, Align::left);
        }
        p_.tell(told);
        if (!asking) return;
        const std::string you = p_.say("view.you");
        const float w = p_.width(you, Face::caption) + 16,
                    h = std::min(height - 8, p_.line_height(Face::caption) + 2);
        const Rect pill{x[0] + p_.width(std::to_string(rank), columns_[0].face) + 8, y + (height - h) / 2, w,
                        h};
        p_.rect(pill, Token::accent, h / 2);
        p_.label(pill, you, Face::caption, Token::onacc);
    }

    const Input& in_;
    Painter p_;
    MeshQuestion q_;
    bool covered_ = false;
    std::vector<Column> columns_;
};

}  // namespace

Picture mesh_table(const Input& input, const MeshOptions& options) {
    return Table(input, options).draw();
}

}  // namespace meshscope::view
