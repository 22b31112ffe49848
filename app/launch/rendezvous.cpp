#include "app/launch/rendezvous.h"

#include <algorithm>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "core/base/pack.h"

namespace meshscope::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{50};

void pause() {
    std::this_thread::sleep_for(kTick);
}

int number(const std::string& text) {
    return text.empty() ? 0 : std::stoi(text);
}

/// A node's word on how its round went.
std::string pack_result(const RoundResult& result) {
    Packer packer;
    packer.add(result.outcome);
    packer.add(result.signal);
    packer.add(static_cast<uint64_t>(result.failures.size()));
    for (const Failure& f : result.failures) {
        packer.add(f.rank), packer.add(f.local_rank), packer.add(f.node), packer.add(f.exit_code);
        packer.add(f.time_ns);
        packer.add(f.id);
        packer.add(f.text.substr(0, 1024));  // the store takes values of 64 KiB
        packer.add(f.json.size() > 4096 ? std::string() : f.json);
        packer.add(static_cast<uint8_t>(f.secondary));
    }
    const std::vector<std::byte> bytes = packer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RoundResult unpack_result(const std::string& text) {
    Unpacker unpacker(std::as_bytes(std::span(text.data(), text.size())));
    RoundResult result;
    result.outcome = unpacker.get<Outcome>();
    result.signal = unpacker.get<int>();
    const auto n = unpacker.get<uint64_t>();
    for (uint64_t i = 0; i < n; ++i) {
        Failure f;
        f.rank = unpacker.get<int32_t>(), f.local_rank = unpacker.get<int32_t>();
        f.node = unpacker.get<int32_t>(), f.exit_code = unpacker.get<int32_t>();
        f.time_ns = unpacker.get<int64_t>();
        f.id = unpacker.text();
        f.text = unpacker.text();
        f.json = unpacker.text();
        f.secondary = unpacker.get<uint8_t>() != 0;
        result.failures.push_back(std::move(f));
    }
    return result;
}

}  // namespace

Rendezvous::Rendezvous(backends::tcp::StoreClient& store, MeetingOptions options)
    : store_(store), options_(options) {}

std::string Rendezvous::key(const std::string& name) const {
    return "launch/" + std::to_string(round_) + "/" + name;
}

std::string Rendezvous::get(const std::string& name) {
    return store_.get(key(name)).value_or("");
}

void Rendezvous::beat() {
    if (Clock::now() - beaten_ < options_.lost_after / 10) return;
    beaten_ = Clock::now();
    store_.set(key("pulse/" + std::to_string(index_)), std::to_string(++beats_));
}

bool Rendezvous::is_lost(int32_t index) {
    if (index == index_) return false;
    const std::string value = get("pulse/" + std::to_string(index));
    Pulse& pulse = pulses_[index];
    if (pulse.changed == Clock::time_point{} || pulse.value != value) pulse = {value, Clock::now()};
    return Clock::now() - pulse.changed > options_.lost_after;
}

Rendezvous::Node Rendezvous::node_of(int32_t index) {
    std::istringstream words(store_.wait(key("node/" + std::to_string(index)), options_.timeout));
    Node node;
    words >> node.host >> node.workers >> node.wish >> node.port;
    return node;
}

void Rendezvous::pause_or_stop() {
    if (options_.stopped()) throw Cancelled({"launch.stopped_waiting", {}});
    pause();
}

void Rendezvous::lead_joining() {
    const auto since = Clock::now();
    std::optional<Clock::time_point> enough_since;
    int joined = 0;
    while ((joined = number(get("joined"))) < options_.max_nodes) {
        if (joined >= options_.min_nodes) {
            if (!enough_since) enough_since = Clock::now();
            if (Clock::now() - *enough_since >= options_.last_call) break;
        }
        const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - since);
        if (waited > options_.timeout)
            throw CommError({"launch.nodes_missing",
                             {{"joined", int64_t{joined}},
                              {"needed", int64_t{options_.min_nodes}},
                              {"waited_ms", int64_t{waited.count()}}}},
                            GlobalRank{-1});
        pause_or_stop();
    }
    struct Place {
        int32_t wish, index;
    };
    std::vector<Place> places;
    for (int32_t i = 0; i < std::min(joined, options_.max_nodes); ++i) {
        const Node node = node_of(i);
        if (node.workers != options_.workers)
            throw InvalidArgument({"launch.workers_differ",
                                   {{"host", node.host},
                                    {"theirs", int64_t{node.workers}},
                                    {"ours", int64_t{options_.workers}}}});
        places.push_back({node.wish < 0 ? options_.max_nodes + i : node.wish, i});
    }
    std::ranges::stable_sort(places, {}, &Place::wish);
    std::string table;
    for (const Place& place : places) table += std::to_string(place.index) + " ";
    store_.set(key("restarts"), std::to_string(restarts_));
    store_.set(key("table"), table);
}

Meeting Rendezvous::meet(int32_t free_port) {
    if (!options_.leads) {
        // A round that has begun has no room any more: its leader is told, and makes a new one.
        const auto since = Clock::now();
        bool told = false;
        while (true) {
            round_ = std::max(round_, number(store_.get("launch/round").value_or("")));
            if (get("table").empty()) break;
            if (!told) store_.set("launch/waiting", "1");
            told = true;
            if (Clock::now() - since > options_.timeout)
                throw CommError({"launch.no_room", {{"most", int64_t{options_.max_nodes}}}}, GlobalRank{-1});
            pause_or_stop();
        }
    } else {
        store_.set("launch/round", std::to_string(round_));
    }
    pulses_.clear();
    index_ = static_cast<int32_t>(store_.add(key("joined"), 1)) - 1;
    store_.set(key("node/" + std::to_string(index_)),
               store_.own_host() + " " + std::to_string(options_.workers) + " " +
                   std::to_string(options_.node_rank) + " " + std::to_string(free_port));
    if (options_.leads) lead_joining();
    while (get("table").empty()) {
        beat();
        pause_or_stop();
    }
    table_.clear();
    std::istringstream words(get("table"));
    for (int32_t index = 0; words >> index;) table_.push_back(index);
    restarts_ = number(get("restarts"));
    const auto place = std::ranges::find(table_, index_);
    if (place == table_.end()) return meet(free_port);  // one too many, or too late
    Meeting meeting;
    meeting.round = round_;
    meeting.restarts = restarts_;
    meeting.node = static_cast<int32_t>(place - table_.begin());
    meeting.nodes = static_cast<int32_t>(table_.size());
    meeting.first_rank = meeting.node * options_.workers;
    meeting.world_size = meeting.nodes * options_.workers;
    const Node first = node_of(table_.front());
    meeting.master_addr = first.host;
    meeting.master_port = first.port;
    return meeting;
}

bool Rendezvous::must_stop() {
    beat();
    if (options_.leads) {
        bool stop = false;
        for (const int32_t index : table_) {
            const std::string word = get("result/" + std::to_string(index));
            stop = stop || (word.empty() ? is_lost(index) : unpack_result(word).outcome != Outcome::finished);
        }
        const bool room = static_cast<int32_t>(table_.size()) < options_.max_nodes;
        stop = stop || (room && store_.get("launch/waiting"));
        if (stop) store_.set(key("stop"), "1");
        return stop;
    }
    return !get("stop").empty();
}

Decision Rendezvous::lead_decision() {
    Decision decision;
    bool stopped = false;
    for (const int32_t index : table_) {
        std::string word;
        while ((word = get("result/" + std::to_string(index))).empty()) {
            // A node that says nothing is gone: fewer are left, which is no failure of a worker.
            if (is_lost(index)) break;
            must_stop();
            pause();
        }
        if (word.empty()) {
            stopped = true;
            continue;
        }
        const RoundResult result = unpack_result(word);
        stopped = stopped || result.outcome == Outcome::stopped || result.outcome == Outcome::signalled;
        if (result.outcome == Outcome::signalled && index == index_) {
            decision.next = Decision::Next::signalled;
            decision.exit_code = 128 + result.signal;
        }
        decision.failures.insert(decision.failures.end(), result.failures.begin(), result.failures.end());
    }
    order_by_cause(decision.failures);
    if (decision.next == Decision::Next::signalled) return decision;
    if (!decision.failures.empty()) {
        decision.next = restarts_ < options_.max_restarts ? Decision::Next::again : Decision::Next::given_up;
        decision.exit_code = decision.failures.front().exit_code;
        if (decision.next == Decision::Next::again) ++restarts_;
    } else if (stopped) {
        decision.next = Decision::Next::again;
    }
    return decision;
}

void Rendezvous::wait_for_readers() {
    int others = 0;
    for (const int32_t index : table_) {
        const std::string word = index == index_ ? "" : get("result/" + std::to_string(index));
        if (!word.empty() && unpack_result(word).outcome != Outcome::signalled) ++others;
    }
    const auto since = Clock::now();
    while (number(get("left")) < others && Clock::now() - since < options_.lost_after) pause();
}

Decision Rendezvous::decide(const RoundResult& here) {
    store_.set(key("result/" + std::to_string(index_)), pack_result(here));
    Decision decision;
    if (options_.leads) {
        decision = lead_decision();
        decision.restarts = restarts_;
        store_.erase("launch/waiting");
        store_.set(key("next"), std::to_string(static_cast<int>(decision.next)) + " " +
                                    std::to_string(decision.exit_code));
        if (decision.next != Decision::Next::again) wait_for_readers();
    } else {
        if (here.outcome == Outcome::signalled) {
            decision.next = Decision::Next::signalled;
            decision.exit_code = 128 + here.signal;
            return decision;
        }
        std::string word;
        while ((word = get("next")).empty()) {
            beat();
            pause_or_stop();
        }
        std::istringstream words(word);
        int next = 0;
        words >> next >> decision.exit_code;
        store_.add(key("left"), 1);
        decision.next = static_cast<Decision::Next>(next);
    }
    ++round_;
    return decision;
}

}  // namespace meshscope::launch
