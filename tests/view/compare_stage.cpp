#include "tests/view/compare_stage.h"

#include "backends/registry.h"
#include "core/run/run.h"

namespace meshscope::test::compare {

std::shared_ptr<const trace::Trace> trace_of(const std::string& text) {
    const auto registry = backends::make_registry();
    return run::run_scenario(scenario::parse_scenario(text, "test.toml"), *registry).trace;
}

const std::vector<std::shared_ptr<const trace::Trace>>& three() {
    static const std::vector<std::shared_ptr<const trace::Trace>> runs{trace_of(kDdp), trace_of(kFsdp),
                                                                       trace_of(kHsdp)};
    return runs;
}

}  // namespace meshscope::test::compare
