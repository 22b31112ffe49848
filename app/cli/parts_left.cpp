#include "app/cli/parts_left.h"

#include <cstdint>
#include <ostream>

#include "core/base/shell_word.h"
#include "core/run/recover.h"

namespace meshscope::cli {

void tell_parts_left(const std::string& trace, const CommandContext& context) {
    const run::Left left = run::left_beside(trace);
    if (left.parts == 0) return;
    context.err << context.text(left.empty ? "cli.run.parts_left_empty" : "cli.run.parts_left",
                                {{"path", shell_word(trace)},
                                 {"parts", int64_t{left.parts}},
                                 {"ranks", int64_t{left.ranks}},
                                 {"steps", int64_t{left.steps}}})
                << '\n';
}

}  // namespace meshscope::cli
