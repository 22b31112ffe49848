// Contexts of emscripten: its compiler makes functions that can save their frames and come back to them (Asyncify), so
// that a page's one thread can hold many stacks. A context has two: the frames' own memory, and what saved frames hold.
#include <emscripten/em_js.h>
#include <emscripten/fiber.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "backends/fibers/context.h"

namespace meshscope::backends::fibers {
namespace {

/// Of each of the two, for a rank. One of the lessons takes up to 32 KiB of a native stack.
constexpr std::size_t kStackBytes = std::size_t{128} << 10;

}  // namespace

// What is kept of exceptions, which emscripten throws and catches in JavaScript: those being handled, how many are on
// their way, and the last.
// clang-format off
EM_JS(void, meshscope_switch_exceptions, (const void* from, const void* to), {
    var kept = Module['meshscopeExceptions'] || (Module['meshscopeExceptions'] = {});
    kept[from] = [exceptionCaught, uncaughtExceptionCount, exceptionLast];
    var its = kept[to] || [[], 0, 0];
    delete kept[to];
    exceptionCaught = its[0];
    uncaughtExceptionCount = its[1];
    exceptionLast = its[2];
})
EM_JS(void, meshscope_forget_exceptions, (const void* of), {
    if (Module['meshscopeExceptions']) delete Module['meshscopeExceptions'][of];
})
// clang-format on

struct Context::Machine {
    Machine() : saved(lines(kStackBytes)) {
        emscripten_fiber_init_from_current_context(&fiber, saved.get(), kStackBytes);
    }
    Machine(Entry entry_of_it, void* argument_of_it, std::size_t bytes)
        : stack(lines(bytes)), saved(lines(bytes)), entry(entry_of_it), argument(argument_of_it) {
        emscripten_fiber_init(&fiber, &Machine::begin, this, stack.get(), bytes, saved.get(), bytes);
    }
    ~Machine() { meshscope_forget_exceptions(this); }

    static void begin(void* machine) {
        auto* const me = static_cast<Machine*>(machine);
        me->entry(me->argument);
        std::abort();
    }
    void go(Machine& next) {
        meshscope_switch_exceptions(this, &next);
        emscripten_fiber_swap(&fiber, &next.fiber);
    }

    struct alignas(16) Line {
        std::byte bytes[16];
    };
    static std::unique_ptr<Line[]> lines(std::size_t bytes) {
        return std::make_unique_for_overwrite<Line[]>(bytes / sizeof(Line));
    }

    std::unique_ptr<Line[]> stack;  ///< none of the page's own
    std::unique_ptr<Line[]> saved;
    emscripten_fiber_t fiber{};
    Entry entry = nullptr;
    void* argument = nullptr;
};

Context::Context() : machine_(std::make_unique<Machine>()) {}
Context::Context(Entry entry, void* argument, std::size_t stack_bytes)
    : machine_(std::make_unique<Machine>(entry, argument, stack_bytes > 0 ? stack_bytes : kStackBytes)) {}
Context::~Context() = default;

void Context::switch_to(Context& next) {
    machine_->go(*next.machine_);
}

void Context::leave_to(Context& next) {
    machine_->go(*next.machine_);
    std::abort();
}

}  // namespace meshscope::backends::fibers
