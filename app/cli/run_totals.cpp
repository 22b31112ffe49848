#include "app/cli/run_totals.h"

#include "app/cli/table.h"
#include "core/trace/recorded.h"

namespace meshscope::cli {
namespace {

std::string steps_of(const run::RunResult& result, const CommandContext& context) {
    const int64_t all = result.trace->info.steps, before = result.resumed_after;
    Message message{"cli.run.total.steps",
                    {{"ranks", int64_t{result.trace->info.world_size}},
                     {"steps", all - before},
                     {"ms", milliseconds(result.wall_ns)}}};
    if (before > 0) {
        message.id = "cli.run.total.resumed";
        message.args.push_back({"before", before});
        message.args.push_back({"all", all});
    }
    return context.text(message);
}

/// Unknown is not zero: what was not recorded, or what a library does not tell, is said to be so.
std::string sent_of(const trace::Trace& trace, const CommandContext& context) {
    if (trace.info.level == trace::Level::off) return context.text("cli.run.total.not_recorded");
    int64_t collectives = 0, silent = 0, bytes = 0;
    for (const trace::RankTrace& rank : trace.ranks)
        for (const trace::Event& event : rank.events) {
            collectives += event.kind == trace::EventKind::collective;
            silent += !tells_sent_bytes(event);
            bytes += event.sent_bytes;
        }
    Message message{"cli.run.total.sent", {{"collectives", collectives}, {"bytes", bytes}}};
    if (silent > 0) {
        message.id = silent == collectives ? "cli.run.total.native" : "cli.run.total.some_native";
        message.args.push_back({"native", silent});
    }
    return context.text(message);
}

}  // namespace

std::string run_totals(const run::RunResult& result, const CommandContext& context) {
    return context.text("cli.run.summary",
                        {{"steps", steps_of(result, context)}, {"sent", sent_of(*result.trace, context)}});
}

}  // namespace meshscope::cli
