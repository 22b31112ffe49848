#include "core/mesh/answer.h"

#include <charconv>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/mesh/python_text.h"
#include "core/mesh/value.h"

namespace meshscope::mesh {

namespace {

/// Names as Python source writes an index or a call's arguments: "a", "b".
std::string quoted(const Names& names) {
    std::string text;
    for (size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "\"" : ", \"");
        for (const char c : names[i]) {
            if (c == '"' || c == '\\') text += '\\';
            text += c;
        }
        text += '"';
    }
    return text;
}

std::string slice_expression(const std::string& mesh, const Names& names, bool list = false) {
    if (list) return mesh + "[[" + quoted(names) + "]]";
    return mesh + "[" + (names.empty() ? "()" : quoted(names)) + "]";
}

std::optional<int64_t> number(const std::string& text) {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// What stands in a slice's brackets instead of names: a tuple needs no brackets of its own there.
std::string index_text(const Question& question) {
    const std::string& index = question.index;
    const bool bare = question.several && !index.ends_with(",)");
    return bare ? index.substr(1, index.size() - 2) : index;
}

/// "", "()" or "(\"dp\")".
std::string brackets_behind(const Question& question) {
    const ValueMember* const member = find_value_member(question.member);
    if (member && !member->called) return "";
    if (!question.asked_dim) return "()";
    const auto* number = std::get_if<int64_t>(&*question.asked_dim);
    return "(" + (number ? std::to_string(*number) : quoted({std::get<std::string>(*question.asked_dim)})) +
           ")";
}

std::string argument(const Message& message, const char* name) {
    const MessageValue* value = message.find(name);
    return value == nullptr ? std::string() : to_text(*value);
}

}  // namespace

Answer answer(const DeviceMesh& mesh, GlobalRank asking) {
    Answer result;
    result.asking = asking;
    result.shape = mesh.shape();
    result.names = mesh.names();
    result.ranks = mesh.ranks(asking);
    result.coordinate = mesh.coordinate(asking);
    if (result.coordinate) {
        result.groups = mesh.groups(asking);
        for (int64_t dim = 0; dim < mesh.ndim(); ++dim)
            result.local_rank.push_back(mesh.local_rank(asking, dim));
    }
    result.repr = mesh.repr();
    for (const Layout& layout : mesh.layouts()) result.layouts.push_back(layout.to_text());
    result.cost = mesh.cost();
    return result;
}

std::string nested_text(const Answer& answer) {
    return python_nested_list(answer.shape, answer.ranks);
}

BriefAnswer brief_answer(const DeviceMesh& mesh, GlobalRank asking, int64_t most) {
    BriefAnswer result{mesh.ranks_excerpt(asking, most), mesh.coordinate(asking), {}};
    for (int64_t dim = 0; result.coordinate && dim < mesh.ndim(); ++dim)
        result.groups.push_back(mesh.group_excerpt(asking, dim, most));
    return result;
}

std::string pytorch_expression(const Question& question) {
    const std::string of = question.of.empty() ? "mesh" : pytorch_expression(question.of.front());
    switch (question.kind) {
        case QuestionKind::root:
            return "mesh";
        case QuestionKind::slice:
            return question.index.empty() ? slice_expression(of, question.names, question.list)
                                          : of + "[" + index_text(question) + "]";
        case QuestionKind::flatten:
            return (question.of.empty() ? slice_expression(of, question.names) : of) + "._flatten(" +
                   (question.new_name.empty() ? "" : quoted({question.new_name})) + ")";
        case QuestionKind::unflatten:
            return of + "._unflatten(" +
                   (number(question.mesh_dim) ? question.mesh_dim : quoted({question.mesh_dim})) + ", " +
                   python_tuple(question.sizes) + ", (" + quoted(question.names) +
                   (question.names.size() == 1 ? ",))" : "))");
        case QuestionKind::concatenate: {
            std::string text;
            for (const Question& part : question.of)
                text += (text.empty() ? "" : ", ") + pytorch_expression(part);
            for (const Names& part : question.parts)
                text += (text.empty() ? "" : ", ") + slice_expression("mesh", part);
            return "DeviceMesh._concatenate([" + text + "])";
        }
        case QuestionKind::value:
            return of + "." + question.member + brackets_behind(question);
    }
    return {};
}

namespace {

/// Throws what PyTorch raises where `asking` is outside of the sub-mesh.
void expect_seen(const DeviceMesh& mesh, GlobalRank asking) {
    if (!mesh.contains(asking)) static_cast<void>(mesh.ranks_excerpt(asking, 0));
}

/// Works a question out, what it is asked of first; each mesh made on the way is added to `steps`.
DeviceMesh evaluate(const DeviceMesh& root, const Question& question, std::optional<GlobalRank> asking,
                    std::vector<DeviceMesh>& steps) {
    const auto made = [&](DeviceMesh mesh) {
        steps.push_back(mesh);
        if (asking) expect_seen(mesh, *asking);
        return mesh;
    };
    if (question.kind == QuestionKind::concatenate) {
        std::vector<DeviceMesh> parts;
        for (const Question& part : question.of) parts.push_back(evaluate(root, part, asking, steps));
        for (const Names& part : question.parts) parts.push_back(made(root.slice(part)));
        return made(DeviceMesh::concatenate(parts));
    }
    const DeviceMesh of = question.of.empty() ? root : evaluate(root, question.of.front(), asking, steps);
    switch (question.kind) {
        case QuestionKind::slice:
            if (!question.index.empty()) of.refuse_index(question.index, question.several);
            return made(of.slice(question.names, question.list));
        case QuestionKind::flatten:
            return made(
                (question.of.empty() ? made(of.slice(question.names)) : of).flatten(question.new_name));
        case QuestionKind::unflatten: {
            const std::optional<int64_t> dim = number(question.mesh_dim);
            return made(dim ? of.unflatten(*dim, question.sizes, question.names)
                            : of.unflatten(question.mesh_dim, question.sizes, question.names));
        }
        case QuestionKind::value:
            check_value_dim(of, question);
            break;
        case QuestionKind::root:
        case QuestionKind::concatenate:
            break;
    }
    return made(of);
}

}  // namespace

Derived derive(const DeviceMesh& mesh, const Question& question, std::optional<GlobalRank> asking) {
    Derived derived{question, {}, {}};
    try {
        static_cast<void>(evaluate(mesh, question, asking, derived.steps));
    } catch (const InvalidArgument& refusal) {
        derived.error = refusal.message();
    }
    return derived;
}

std::optional<Message> refusal_of(const Derived& derived, GlobalRank asking) {
    try {
        for (const DeviceMesh& step : derived.steps) expect_seen(step, asking);
        if (!derived.error && derived.question.kind == QuestionKind::value)
            static_cast<void>(value_for(derived, asking, 0));
        return derived.error;
    } catch (const InvalidArgument& refusal) {
        return refusal.message();
    }
}

Reply reply(const Derived& derived, GlobalRank asking) {
    if (std::optional<Message> refusal = refusal_of(derived, asking)) return {{}, std::move(refusal)};
    if (derived.question.kind == QuestionKind::value)
        return {{}, {}, value_for(derived, asking, std::numeric_limits<int64_t>::max())};
    return {answer(derived.steps.back(), asking), {}};
}

std::string pytorch_exception(const Message& refusal) {
    const std::string type = argument(refusal, "pytorch_error");
    const std::string text = argument(refusal, "pytorch_text");
    return text.empty() ? type : type + ": " + text;
}

}  // namespace meshscope::mesh
