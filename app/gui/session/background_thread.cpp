#include <condition_variable>
#include <thread>
#include <utility>

#include "app/gui/session/background.h"
#include "core/base/start_thread.h"

namespace meshscope::session {

struct Background::Machine {
    std::function<void(Background&)> body;
    std::condition_variable told;
    std::thread thread;
};

Background::Background(std::function<void(Background&)> body) : machine_(std::make_unique<Machine>()) {
    machine_->body = std::move(body);
    machine_->thread = start_thread([this] { machine_->body(*this); });
}

Background::~Background() {
    machine_->thread.join();
}

void Background::give_time() {}

void Background::notify() {
    machine_->told.notify_all();
}

void Background::pause() {}

void Background::wait(std::unique_lock<std::mutex>& guard, const std::function<bool()>& until) {
    machine_->told.wait(guard, until);
}

void Background::with_room(const std::function<void()>& part) {
    part();
}

}  // namespace meshscope::session
