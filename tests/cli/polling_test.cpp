// Whether a signal ends the program at once or is left to what runs.
#include <sstream>
#include <stdexcept>

#include "app/cli/command.h"
#include "tests/test.h"

using meshscope::cli::CommandContext;
using meshscope::cli::Polling;

namespace {

struct Program {
    std::atomic<bool> polled{false};
    meshscope::i18n::Catalogue catalogue;
    std::ostringstream out, err;
    CommandContext context{.out = out, .err = err, .catalogue = catalogue, .polled = &polled};
};

}  // namespace

TEST_CASE("a signal is left to what runs, while it runs") {
    Program program;
    {
        const Polling outer(program.context);
        CHECK(program.polled);
        { const Polling inner(program.context); }
        CHECK(program.polled);
    }
    CHECK_FALSE(program.polled);
}

TEST_CASE("a signal does not cut the last words of what failed") {
    Program program;
    try {
        const Polling polling(program.context);
        throw std::runtime_error("the cause");
    } catch (const std::runtime_error&) {
        CHECK(program.polled);  // where the words are left, after everything was put away
    }
}

TEST_CASE("what runs while another error is on its way out ends as ever") {
    Program program;
    struct PutsAway {
        Program& program;
        ~PutsAway() { const Polling polling(program.context); }
    };
    try {
        const PutsAway last{program};
        throw std::runtime_error("the cause");
    } catch (const std::runtime_error&) {
        CHECK_FALSE(program.polled);
    }
}
