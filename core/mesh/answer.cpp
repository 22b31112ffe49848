#include "core/mesh/answer.h"

#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/mesh/python_text.h"

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

std::string slice_expression(const Names& names) {
    return "mesh[" + (names.empty() ? "()" : quoted(names)) + "]";
}

std::optional<int64_t> number(const std::string& text) {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
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

std::string pytorch_expression(const Question& question) {
    switch (question.kind) {
        case QuestionKind::slice:
            return slice_expression(question.names);
        case QuestionKind::flatten:
            return slice_expression(question.names) + "._flatten()";
        case QuestionKind::unflatten:
            return "mesh._unflatten(" +
                   (number(question.mesh_dim) ? question.mesh_dim : quoted({question.mesh_dim})) + ", " +
                   python_tuple(question.sizes) + ", (" + quoted(question.names) +
                   (question.names.size() == 1 ? ",))" : "))");
        case QuestionKind::concatenate: {
            std::string text;
            for (const Names& part : question.parts)
                text += (text.empty() ? "" : ", ") + slice_expression(part);
            return "DeviceMesh._concatenate([" + text + "])";
        }
    }
    return {};
}

Derived derive(const DeviceMesh& mesh, const Question& question) {
    Derived derived{question, {}, {}};
    std::vector<DeviceMesh>& steps = derived.steps;
    try {
        switch (question.kind) {
            case QuestionKind::slice:
                steps.push_back(mesh.slice(question.names));
                break;
            case QuestionKind::flatten:
                steps.push_back(mesh.slice(question.names));
                steps.push_back(steps.back().flatten());
                break;
            case QuestionKind::unflatten: {
                const std::optional<int64_t> dim = number(question.mesh_dim);
                steps.push_back(dim ? mesh.unflatten(*dim, question.sizes, question.names)
                                    : mesh.unflatten(question.mesh_dim, question.sizes, question.names));
                break;
            }
            case QuestionKind::concatenate: {
                for (const Names& part : question.parts) steps.push_back(mesh.slice(part));
                steps.push_back(DeviceMesh::concatenate(steps));
                break;
            }
        }
    } catch (const InvalidArgument& refusal) {
        derived.error = refusal.message();
    }
    return derived;
}

Reply reply(const Derived& derived, GlobalRank asking) {
    try {
        // PyTorch looks for the asking rank whenever it makes a sub-mesh, so a rank outside fails on the way.
        for (const DeviceMesh& step : derived.steps)
            if (!step.contains(asking)) static_cast<void>(step.ranks(asking));
        if (derived.error) return {{}, derived.error};
        return {answer(derived.steps.back(), asking), {}};
    } catch (const InvalidArgument& refusal) {
        return {{}, refusal.message()};
    }
}

std::string pytorch_exception(const Message& refusal) {
    const std::string type = argument(refusal, "pytorch_error");
    const std::string text = argument(refusal, "pytorch_text");
    return text.empty() ? type : type + ": " + text;
}

}  // namespace meshscope::mesh
