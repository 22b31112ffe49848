// Contexts of the C library: they need no further library, are there on every processor that glibc runs on,
// and debuggers and unwinders know them. A switch asks the system for the signal mask, which costs 0.2 us; a
// rank does far more between two switches.
#include <cxxabi.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "backends/fibers/context.h"
#include "backends/fibers/sanitizer.h"
#include "backends/fibers/stack.h"
#include "core/base/fiber_stack.h"

namespace meshscope::backends::fibers {
namespace {

/// What the C++ runtime keeps for a thread of its exceptions: __cxa_eh_globals of the Itanium C++ ABI
/// (2.2.2).
struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};

ExceptionState& exception_state() {
    return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

}  // namespace

struct Context::Machine {
    Machine() { getcontext(&place); }
    Machine(Entry entry_of_it, void* argument_of_it, std::size_t stack_bytes)
        : stack(std::in_place, stack_bytes > 0 ? stack_bytes : static_cast<std::size_t>(kFiberStackBytes)),
          sanitized(std::in_place, stack->bottom(), stack->bytes()),
          entry(entry_of_it),
          argument(argument_of_it) {
        getcontext(&place);
        place.uc_stack.ss_sp = stack->bottom();
        place.uc_stack.ss_size = stack->bytes();
        place.uc_link = nullptr;
        // makecontext hands over ints.
        const auto me = static_cast<uint64_t>(reinterpret_cast<std::uintptr_t>(this));
        makecontext(&place, reinterpret_cast<void (*)()>(&Machine::begin), 2,
                    static_cast<unsigned int>(me >> 32U), static_cast<unsigned int>(me & 0xffffffffU));
    }

    static void begin(unsigned int high, unsigned int low) {
        const uint64_t whole = (uint64_t{high} << 32U) | low;
        auto* const me = reinterpret_cast<Machine*>(static_cast<std::uintptr_t>(whole));
        me->sanitized->arrive();
        me->entry(me->argument);
        std::abort();
    }

    void go(Machine& next, bool last) {
        ExceptionState& state = exception_state();
        exceptions = state;
        state = next.exceptions;
        sanitized->leave(*next.sanitized, last);
        swapcontext(&place, &next.place);
        sanitized->arrive();
    }

    std::optional<Stack> stack;  ///< none of the thread's own
    std::optional<SanitizedStack> sanitized{std::in_place};
    ucontext_t place{};
    ExceptionState exceptions;
    Entry entry = nullptr;
    void* argument = nullptr;
};

Context::Context() : machine_(std::make_unique<Machine>()) {}
Context::Context(Entry entry, void* argument, std::size_t stack_bytes)
    : machine_(std::make_unique<Machine>(entry, argument, stack_bytes)) {}
Context::~Context() = default;

void Context::switch_to(Context& next) {
    machine_->go(*next.machine_, false);
}

void Context::leave_to(Context& next) {
    machine_->go(*next.machine_, true);
    std::abort();
}

}  // namespace meshscope::backends::fibers
