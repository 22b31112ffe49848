#include "app/gui/view/mesh_question.h"

#include <algorithm>
#include <numeric>

#include "app/gui/view/common.h"
#include "app/gui/view/paint.h"
#include "core/base/error.h"
#include "core/mesh/question_text.h"

namespace meshscope::view {

int64_t MeshQuestion::index_of(int64_t rank) const {
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    return at == ranks.end() ? -1 : at - ranks.begin();
}

Token MeshQuestion::hue(std::size_t dim) const {
    return dim_hue(names[dim], dim);
}
Stroke MeshQuestion::stroke(std::size_t dim) const {
    return dim_stroke(names[dim], dim);
}

namespace {

/// One question after the other, on one mesh: the last one's answer, or the first refusal.
void ask(MeshQuestion& q, const std::vector<mesh::Question>& questions) {
    for (const mesh::Question& question : questions) {
        q.expression = mesh::pytorch_expression(question);
        const auto derived = mesh::derive(*q.mesh, question);
        if (derived.error || derived.steps.empty()) {
            q.slice.reset();
            q.error = derived.error;
            return;
        }
        q.slice = derived.steps.back();
        if (question.kind == mesh::QuestionKind::value)
            q.value = derived;
        else
            q.value.reset();
    }
    if (questions.empty() || questions.back().kind != mesh::QuestionKind::slice ||
        !questions.back().of.empty())
        return;
    const mesh::Names& wanted = questions.back().names;
    for (const auto& name : wanted)
        if (const auto at = std::find(q.names.begin(), q.names.end(), name); at != q.names.end())
            q.kept.push_back(static_cast<std::size_t>(at - q.names.begin()));
    q.sliced = !wanted.empty() && q.kept.size() == wanted.size();
}

}  // namespace

MeshQuestion mesh_question(const Input& input, const MeshOptions& options) {
    MeshQuestion q;
    const auto& info = input.trace.info;
    int64_t world = std::max<int64_t>(info.world_size, static_cast<int64_t>(input.trace.ranks.size()));
    q.shape = options.shape.empty() ? info.mesh_shape : options.shape;
    if (q.shape.empty()) q.shape = {std::max<int64_t>(1, world)};
    mesh::Names names = options.shape.empty() ? info.mesh_names : options.names;
    int64_t size = 1;
    for (const int64_t s : q.shape) size *= s;
    if (options.shape.empty()) {
        q.ranks.assign(info.mesh_ranks.begin(), info.mesh_ranks.end());
        q.node_of_rank = info.node_of_rank;
    } else {
        world = size;
    }
    if (static_cast<int64_t>(q.ranks.size()) != size) {
        q.ranks.resize(static_cast<std::size_t>(size));
        std::iota(q.ranks.begin(), q.ranks.end(), 0);
    }
    for (std::size_t d = 0; d < q.shape.size(); ++d)
        q.names.push_back(d < names.size() && !names[d].empty() ? names[d] : "dim " + std::to_string(d));
    q.asking = std::max(0, input.selection.asking_rank);
    try {
        q.mesh = mesh::DeviceMesh::from_ranks(q.shape, q.ranks, names, std::max(world, size));
    } catch (const Error& e) {
        q.error = e.message();
        return q;
    }
    try {
        ask(q, mesh::parse_questions(input.selection.slice));
    } catch (const Error& e) {
        q.expression = input.selection.slice;
        q.error = e.message();
        q.unreadable = true;
    }
    return q;
}

float mesh_error(Painter& p, const Message& error, Point at, float width) {
    const auto text_of = [&](const char* name) {
        const auto* value = error.find(name);
        const auto* text = value ? std::get_if<std::string>(value) : nullptr;
        return text ? *text : std::string();
    };
    const std::string type = text_of("pytorch_error"), exact = text_of("pytorch_text");
    const float pad = 16, inner = width - 2 * pad;
    float y = at.y;
    if (!type.empty() || !exact.empty()) {
        const auto lines = p.wrap(exact, Face::mono_small, inner);
        const float head = p.line_height(Face::mono), line = p.line_height(Face::mono_small);
        const float h = 10 + head + 6 + line * static_cast<float>(lines.size()) + 12;
        auto& box = p.rect({at.x, y, width, h}, Token::inset, 8, {"error"});
        box.stroke = Token::err;
        box.stroke_alpha = 0.7F;
        const Point c{at.x + pad + 6, y + 10 + head / 2};
        p.line({c.x - 5, c.y - 5}, {c.x + 5, c.y + 5}, Token::err, 2);
        p.line({c.x - 5, c.y + 5}, {c.x + 5, c.y - 5}, Token::err, 2);
        p.text(type, {c.x + 16, y + 10}, Face::mono, Token::err, Align::left, {"error"});
        y += 10 + head + 6;
        for (const auto& words : lines) {
            p.text(words, {at.x + pad, y}, Face::mono_small, Token::soft, Align::left, {"error"});
            y += line;
        }
        y += 12 + 8;
        p.tell(type + ": " + exact);
    }
    const std::string sentence = p.say(error.id, error.args);
    p.tell(sentence);
    return p.paragraph(sentence, {at.x, y}, Face::body, Token::soft, width, {"error"});
}

}  // namespace meshscope::view
