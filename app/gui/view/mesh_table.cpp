#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/mesh_question.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

/// A column of the mesh's table: its words, one for all ranks that read the same.
struct MeshCells {
    std::string head;
    Token hue = Token::text;
    std::vector<std::string> words;
    std::vector<std::string> shorts;  ///< a shorter spelling of each, where the full one is too wide; or none
    std::vector<std::size_t> of;      ///< by row: its place in `words`
};

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

/// Fills a column row by row; rows of the same ranks get the same words, which are made once.
class Filling {
  public:
    explicit Filling(MeshCells& cells) : cells_(cells) {}
    Filling(const Filling&) = delete;  // it holds a place in its own map
    Filling& operator=(const Filling&) = delete;

    void add(std::string words) {
        cells_.of.push_back(cells_.words.size());
        cells_.words.push_back(std::move(words));
    }
    template <class Full, class Short>
    void add(const std::vector<int64_t>& ranks, const Full& full, const Short& brief) {
        // Neighbours mostly read the same.
        if (last_ == seen_.end() || last_->first != ranks) {
            bool is_new = false;
            std::tie(last_, is_new) = seen_.try_emplace(ranks, cells_.words.size());
            if (is_new) {
                cells_.words.push_back(full());
                cells_.shorts.push_back(brief());
            }
        }
        cells_.of.push_back(last_->second);
    }

  private:
    MeshCells& cells_;
    std::map<std::vector<int64_t>, std::size_t> seen_;
    std::map<std::vector<int64_t>, std::size_t>::iterator last_ = seen_.end();
};

std::vector<MeshCells> fill(const Painter& p, const MeshQuestion& q, bool covered) {
    const auto& shown = q.slice ? *q.slice : *q.mesh;
    const mesh::Derived whole{{}, {shown}, std::nullopt};
    const auto dims = static_cast<std::size_t>(shown.ndim());
    std::vector<MeshCells> columns(dims + 4);
    columns[0].head = p.say("view.mesh.column.rank");
    columns[1].head = p.say("view.mesh.column.coordinate");
    columns[2].head = p.say(q.slice ? "view.mesh.column.slice" : "view.mesh.column.mesh");
    columns.back().head = p.say("view.mesh.column.local");
    for (std::size_t d = 0; d < dims; ++d) {
        const std::string name = d < shown.names().size() ? shown.names()[d] : "dim " + std::to_string(d);
        const auto at = std::find(q.names.begin(), q.names.end(), name);
        if (at != q.names.end()) columns[3 + d].hue = q.hue(static_cast<std::size_t>(at - q.names.begin()));
        columns[3 + d].head = p.say("view.mesh.column.group", {arg("dim", name)});
    }
    std::vector<Filling> filling(columns.begin(), columns.end());
    const std::vector<int64_t> none;
    const auto guessed = [] { return std::string("?"); };
    const auto nothing = [] { return std::string(); };
    for (std::size_t i = 0; i < q.ranks.size(); ++i) {
        const auto r = q.ranks[i];
        filling[0].add(std::to_string(r));
        filling[1].add(format_tuple(mesh_coordinate(q.shape, static_cast<int64_t>(i))));
        const auto reply = mesh::reply(whole, GlobalRank{static_cast<int32_t>(r)});
        const auto* a = reply.answer ? &*reply.answer : nullptr;
        if (covered && q.slice)
            filling[2].add(none, guessed, guessed);
        else if (a)
            filling[2].add(
                a->ranks, [&] { return mesh::nested_text(*a); }, [&] { return span_text(*a); });
        else
            filling[2].add(none, nothing, nothing);
        for (std::size_t d = 0; d < dims; ++d) {
            if (covered)
                filling[3 + d].add(none, guessed, guessed);
            else if (a && d < a->groups.size())
                filling[3 + d].add(
                    a->groups[d], [&] { return format_list(a->groups[d]); },
                    [&] { return group_span(p, a->groups[d]); });
            else
                filling[3 + d].add(none, nothing, nothing);
        }
        filling.back().add(a && a->coordinate ? format_tuple(*a->coordinate) : "");
    }
    return columns;
}

/// What was found last, and all that the words were made from; the sentences stand for the language.
struct LastCells {
    using Key = std::tuple<mesh::Shape, mesh::Names, std::vector<int64_t>, std::string, bool, std::string>;
    Key of;
    std::shared_ptr<const std::vector<MeshCells>> cells;
};

/// Rank, coordinate, nested list, one group a dim of the mesh or its slice, local coordinate. `covered`: a
/// question is open, and groups and slices stand as "?". The question holds a mesh and no error. What was
/// found last stays in the memo for as long as the mesh, the slice and the words are the same. Cost: O(ranks
/// · mesh dims), and a nested list for each different one.
std::shared_ptr<const std::vector<MeshCells>> mesh_cells(const Painter& p, const MeshQuestion& q,
                                                         bool covered, Memo* memo) {
    if (memo == nullptr) return std::make_shared<const std::vector<MeshCells>>(fill(p, q, covered));
    LastCells::Key key{q.shape, q.names, q.ranks, q.expression, covered, p.say("view.mesh.column.rank")};
    std::get<5>(key) += p.say("view.mesh.span", {arg("first", 0), arg("last", 2), arg("step", 2)});
    auto& last = memo->the<LastCells>();
    if (!last.cells || last.of != key) {
        last.cells = std::make_shared<const std::vector<MeshCells>>(fill(p, q, covered));
        last.of = std::move(key);
    }
    return last.cells;
}

struct Column {
    const MeshCells* cells;
    Face face = Face::mono;
    bool use_short = false;
    float width = 0;

    const std::vector<std::string>& spelt() const { return use_short ? cells->shorts : cells->words; }
};

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
        return p_.take(y + 16);
    }

  private:
    void columns() {
        cells_ = mesh_cells(p_, q_, covered_, in_.memo);
        for (const MeshCells& cells : *cells_) columns_.push_back({&cells});
        fit_columns();
    }

    void measure(Column& c) const {
        c.width = p_.width(c.cells->head, Face::caption);
        for (const auto& words : c.spelt()) c.width = std::max(c.width, p_.width(words, c.face));
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
                if (!c.cells->shorts.empty() && !c.use_short && (!widest || c.width > widest->width))
                    widest = &c;
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
            p_.text(columns_[c].cells->head, {x[c], y}, Face::caption, Token::mute);
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
            const std::size_t at = column.cells->of[i];
            const std::string &words = column.spelt()[at], &full = column.cells->words[at];
            told.append(c ? "  " : "").append(full.empty() ? "–" : full);
            const Token tone = !bright ? Token::mute : column.cells->hue;
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
    std::shared_ptr<const std::vector<MeshCells>> cells_;
    std::vector<Column> columns_;
};

}  // namespace

Picture mesh_table(const Input& input, const MeshOptions& options) {
    return Table(input, options).draw();
}

}  // namespace meshscope::view
