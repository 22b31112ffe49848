#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_cells.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

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
        Picture picture = p_.take();
        picture.height = picture.content_height = std::max(in_.size.height, y + 16);
        return picture;
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
