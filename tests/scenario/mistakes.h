#pragma once

#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "tests/test.h"

namespace meshscope::test {

/// "line:column id" of every mistake that `parse()` finds, in order; "(none)" where it finds none.
template <class Parse>
std::vector<std::string> mistakes_of(const Parse& parse) {
    try {
        parse();
        return {"(none)"};
    } catch (const InputError& error) {
        std::vector<std::string> found;
        for (const Diagnostic& d : error.diagnostics())
            found.push_back(std::to_string(d.position.line) + ":" + std::to_string(d.position.column) + " " +
                            d.message.id);
        return found;
    }
}

/// Those of a scenario.
inline std::vector<std::string> mistakes(const std::string& text) {
    return mistakes_of([&] { scenario::parse_scenario(text, "bad.toml"); });
}

/// What a hint offers, as TOML: "model.heads = 8; mesh.shape = [4]"; the whole hint where it offers nothing.
inline std::string changes_in(const Message& hint) {
    const MessageValue* const changes = hint.find("changes");
    return changes ? to_text(*changes) : describe(hint);
}

/// A scenario that is refused, and all that is said of it.
struct BadScenario {
    const char* what;
    std::string text;
    std::vector<std::string> expected;
};

inline void check_mistakes(const std::vector<BadScenario>& cases) {
    for (const BadScenario& c : cases) {
        INFO(c.what << "\n" << c.text);
        CHECK(mistakes(c.text) == c.expected);
    }
}

inline const std::string kModel = "format = 1\n[model]\nkind = \"toy\"\n";            // lines 1 to 3
inline const std::string kTrain = kModel + "[train]\nsteps = 1\nglobal_batch = 8\n";  // to 6
inline const std::string kMlp =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
    "[train]\nsteps = 1\nglobal_batch = 8\n";  // to 9
/// An mlp with a norm, which stands in line 4; to line 10.
inline std::string normed(const std::string& norm) {
    return "format = 1\n[model]\nkind = \"mlp\"\nnorm = \"" + norm +
           "\"\ndim = 4\nhidden = 4\nlayers = 2\n[train]\nsteps = 1\nglobal_batch = 8\n";
}
inline const std::string kFsdp = kMlp + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";        // to 13
inline const std::string kDdp = kTrain + "[parallel]\ndata = \"ddp\"\n";                              // to 8
inline const std::string kPipeline = kTrain + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\n";  // to 10
inline const std::string kTied =
    "format = 1\n[model]\nkind = \"gpt\"\ndim = 4\nhidden = 4\nlayers = 2\nvocab = 5\nseq = 2\nheads = 1\n"
    "tied = true\n[train]\nsteps = 1\nglobal_batch = 8\n";                    // to 13
inline const std::string kStep = kTrain + "[[lesson.step]]\nid = \"one\"\n";  // to 8
inline const std::string kQuiz =
    kStep + "[[quiz]]\nid = \"q\"\nstep = \"one\"\nquestion = { en = \"a\", zh = \"b\" }\n";  // to 12

/// A model of tokens, to line 12 (one more where `rest` has one); `seq` stands in line 8, `heads` in 9.
inline std::string tokens(int64_t seq, int64_t heads, const std::string& kind = "gpt",
                          const std::string& rest = "") {
    return "format = 1\n[model]\nkind = \"" + kind +
           "\"\ndim = 16\nhidden = 8\nlayers = 2\nvocab = 16\nseq = " + std::to_string(seq) +
           "\nheads = " + std::to_string(heads) + "\n" + rest + "[train]\nsteps = 1\nglobal_batch = 8\n";
}
inline const std::string kContext = "[mesh]\nshape = [4]\nnames = [\"cp\"]\n[parallel]\n";  // four lines

}  // namespace meshscope::test
