#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "app/gui/session/background.h"
#include "backends/fibers/context.h"

namespace meshscope::session {

namespace {

using backends::fibers::Context;

/// What a run and its pictures' preparation take, with room to spare: as a thread has it, but for what only
/// a file of another program's needs.
constexpr std::size_t kRoomBytes = std::size_t{1} << 20;

}  // namespace

struct Background::Machine {
    std::function<void(Background&)> body;
    Background* owner = nullptr;
    std::optional<Context> window;  ///< where the window gave time
    std::optional<Context> stack;   ///< on which the work began
    Context* work = nullptr;        ///< where it paused: a rank may have
    bool over = false;

    static void begin(void* machine) {
        auto& me = *static_cast<Machine*>(machine);
        me.body(*me.owner);
        me.over = true;
        me.stack->leave_to(*me.window);
    }
    void go_on() {
        if (over) return;
        window.emplace();
        window->switch_to(*work);
    }
    void pause() {
        Context here;
        work = &here;
        here.switch_to(*window);
    }
};

Background::Background(std::function<void(Background&)> body) : machine_(std::make_unique<Machine>()) {
    machine_->body = std::move(body);
    machine_->owner = this;
    machine_->stack.emplace(&Machine::begin, machine_.get(), kRoomBytes);
    machine_->work = &*machine_->stack;
}

Background::~Background() {
    while (!machine_->over) machine_->go_on();
}

void Background::give_time() {
    machine_->go_on();
}

void Background::notify() {}

void Background::pause() {
    machine_->pause();
}

void Background::wait(std::unique_lock<std::mutex>& guard, const std::function<bool()>& until) {
    while (!until()) {
        guard.unlock();
        machine_->pause();
        guard.lock();
    }
}

void Background::with_room(const std::function<void()>& part) {
    struct Call {
        const std::function<void()>& part;
        Context caller = {};
        std::optional<Context> own = {};
        std::exception_ptr thrown = {};

        static void begin(void* call) {
            auto& me = *static_cast<Call*>(call);
            try {
                me.part();
            } catch (...) {
                me.thrown = std::current_exception();
            }
            me.own->leave_to(me.caller);
        }
    } call{part};
    call.own.emplace(&Call::begin, &call, kRoomBytes);
    call.caller.switch_to(*call.own);
    if (call.thrown) std::rethrow_exception(call.thrown);
}

}  // namespace meshscope::session
