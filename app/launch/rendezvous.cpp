#include "app/launch/rendezvous.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/wait_notifier.h"

namespace meshscope::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{50};

void pause() {
    std::this_thread::sleep_for(kTick);
}

milliseconds since(Clock::time_point begin) {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}

int number(const std::string& text) {
    return text.empty() ? 0 : std::stoi(text);
}

}  // namespace

Rendezvous::Rendezvous(backends::tcp::StoreClient& store, MeetingOptions options)
    : store_(store),
      options_(std::move(options)),
      claim_(store, options_.leads ? -1 : options_.node_rank, options_.lost_after) {}

std::string Rendezvous::key(const std::string& name) const {
    return "launch/" + std::to_string(round_) + "/" + name;
}

std::string Rendezvous::get(const std::string& name) {
    return store_.get(key(name)).value_or("");
}

void Rendezvous::beat() {
    claim_.keep();
    if (Clock::now() - beaten_ < options_.lost_after / 10) return;
    beaten_ = Clock::now();
    store_.set(key("heartbeat/" + std::to_string(index_)), std::to_string(++beats_));
}

bool Rendezvous::is_lost(int32_t index) {
    if (index == index_) return false;
    const auto not_looked = Clock::now() - std::exchange(looked_, Clock::now());
    if (not_looked > options_.lost_after / 2)
        for (auto& [other, heartbeat] : heartbeats_) heartbeat.changed += not_looked;
    const std::string value = get("heartbeat/" + std::to_string(index));
    Heartbeat& heartbeat = heartbeats_[index];
    if (heartbeat.changed == Clock::time_point{} || heartbeat.value != value)
        heartbeat = {value, Clock::now()};
    return Clock::now() - heartbeat.changed > options_.lost_after;
}

std::optional<Rendezvous::Node> Rendezvous::node_of(int32_t index) {
    std::istringstream words(get("node/" + std::to_string(index)));
    Node node;
    if (words >> node.host >> node.workers >> node.wish >> node.port) return node;
    return std::nullopt;
}

void Rendezvous::pause_or_stop() {
    if (options_.signal() != 0) throw Cancelled({"launch.stopped_waiting", {}});
    pause();
}

std::vector<int32_t> Rendezvous::joined() {
    std::vector<int32_t> all{index_};  // without whom there is no round, however many were quicker
    const int n = number(get("joined"));
    for (int32_t i = 0; i < n && static_cast<int32_t>(all.size()) < options_.max_nodes; ++i)
        if (i != index_ && !is_lost(i) && node_of(i)) all.push_back(i);
    return all;
}

std::vector<int64_t> Rendezvous::missing(const std::vector<int32_t>& here) {
    std::set<int64_t> wishes;
    for (const int32_t index : here)
        if (const std::optional<Node> node = node_of(index)) wishes.insert(node->wish);
    std::vector<int64_t> missing;
    for (int64_t rank = 0; rank < options_.min_nodes; ++rank)
        if (!wishes.contains(rank)) missing.push_back(rank);
    return missing;
}

Message Rendezvous::about_missing(const char* id, const std::vector<int32_t>& here) {
    return {id,
            {{"joined", static_cast<int64_t>(here.size())},
             {"needed", int64_t{options_.min_nodes}},
             {"missing", missing(here)},
             {"endpoint", store_.address()}}};
}

void Rendezvous::say_awaited(const std::vector<int32_t>& here) {
    std::string words;
    if (!here.empty()) {
        words = std::to_string(here.size()) + " " + std::to_string(options_.min_nodes);
        for (const int64_t rank : missing(here)) words += " " + std::to_string(rank);
    }
    if (words != std::exchange(awaited_, words)) store_.set(key("awaited"), words);
}

Message Rendezvous::awaits_begin(milliseconds waited) {
    std::istringstream words(get("awaited"));
    int64_t joined = 0, needed = 0;
    if (!(words >> joined >> needed))
        return {"launch.awaits_begin", {{"waited_s", WaitNotifier::seconds(waited)}}};
    std::vector<int64_t> missing;
    for (int64_t rank = 0; words >> rank;) missing.push_back(rank);
    return {"launch.awaits_others",
            {{"waited_s", WaitNotifier::seconds(waited)},
             {"joined", joined},
             {"needed", needed},
             {"missing", std::move(missing)},
             {"endpoint", store_.address()}}};
}

void Rendezvous::lead_joining() {
    const auto begin = Clock::now();
    awaited_.clear();
    WaitNotifier notifier(WaitNotifier::kMeeting);
    // Who asked for room, and so ended the last round, must not come too late for this one.
    const milliseconds last_call =
        is_expecting_ ? std::max(options_.last_call, options_.lost_after / 5) : options_.last_call;
    std::optional<Clock::time_point> enough_since;
    std::vector<int32_t> here;
    while (static_cast<int32_t>((here = joined()).size()) < options_.max_nodes) {
        const bool enough = static_cast<int32_t>(here.size()) >= options_.min_nodes;
        if (!enough) enough_since.reset();
        if (enough && !enough_since) enough_since = Clock::now();
        if (enough && Clock::now() - *enough_since >= last_call) break;
        say_awaited(enough ? std::vector<int32_t>{} : here);
        const milliseconds waited = since(begin);
        if (!enough && notifier.is_due(waited)) {
            Message message = about_missing("launch.awaits_nodes", here);
            message.args.push_back({"waited_s", WaitNotifier::seconds(waited)});
            message.args.push_back({"timeout_s", WaitNotifier::seconds(options_.timeout)});
            options_.tell(message);
        }
        if (!enough && waited > options_.timeout) {
            Message message = about_missing("launch.nodes_missing", here);
            message.args.push_back({"waited_ms", int64_t{waited.count()}});
            throw CommError(std::move(message), GlobalRank{-1});
        }
        pause_or_stop();
    }
    struct Place {
        int32_t wish, index;
    };
    std::vector<Place> places;
    for (const int32_t i : here) {
        const Node node = node_of(i).value();
        places.push_back({node.wish < 0 ? options_.max_nodes + i : node.wish, i});
    }
    std::ranges::stable_sort(places, {}, &Place::wish);
    std::string table;
    for (const Place& place : places) table += std::to_string(place.index) + " ";
    store_.set(key("restarts"), std::to_string(restarts_));
    store_.set(key("table"), table);
    waiting_ = store_.get("launch/waiting").value_or("");
}

void Rendezvous::ask_for_room() {
    if (Clock::now() - beaten_ < options_.lost_after / 10) return;
    beaten_ = Clock::now();
    store_.set("launch/waiting", store_.own_host() + " " + std::to_string(++beats_) + " " +
                                     std::to_string(beaten_.time_since_epoch().count()));
}

bool Rendezvous::is_asked_for_room() {
    const bool room = static_cast<int32_t>(table_.size()) < options_.max_nodes;
    return room && store_.get("launch/waiting").value_or("") != waiting_;
}

void Rendezvous::compare_workers() {
    std::string word;
    while ((word = store_.get("launch/workers").value_or("")).empty()) pause_or_stop();
    if (number(word) == options_.workers) return;
    const Message differ{"launch.workers_differ",
                         {{"theirs", int64_t{number(word)}}, {"ours", int64_t{options_.workers}}}};
    store_.tell_refused(differ);
    throw InvalidArgument(differ);
}

Meeting Rendezvous::meet(int32_t free_port) {
    if (!options_.leads) {
        compare_workers();
        while (!claim_.take()) pause_or_stop();
        // A round that has begun has no room any more: its leader is told, and makes a new one.
        const auto begin = Clock::now();
        WaitNotifier notifier(WaitNotifier::kMeeting);
        while (true) {
            round_ = std::max(round_, number(store_.get("launch/round").value_or("")));
            if (get("table").empty()) break;
            claim_.keep();
            ask_for_room();
            if (since(begin) > options_.timeout) {
                const Message full{"launch.no_room", {{"most", int64_t{options_.max_nodes}}}};
                store_.tell_refused(full);
                throw CommError(full, GlobalRank{-1});
            }
            if (notifier.is_due(since(begin)))
                options_.tell({"launch.awaits_room",
                               {{"most", int64_t{options_.max_nodes}},
                                {"waited_s", WaitNotifier::seconds(since(begin))},
                                {"timeout_s", WaitNotifier::seconds(options_.timeout)}}});
            pause_or_stop();
        }
    } else {
        store_.set("launch/workers", std::to_string(options_.workers));
        store_.set("launch/round", std::to_string(round_));
    }
    heartbeats_.clear();
    beaten_ = {};
    index_ = static_cast<int32_t>(store_.add(key("joined"), 1)) - 1;
    store_.set(key("node/" + std::to_string(index_)),
               store_.own_host() + " " + std::to_string(options_.workers) + " " +
                   std::to_string(options_.node_rank) + " " + std::to_string(free_port));
    if (options_.leads) lead_joining();
    const auto joined = Clock::now();
    WaitNotifier notifier(WaitNotifier::kMeeting);
    while (get("table").empty()) {
        beat();
        if (notifier.is_due(since(joined))) options_.tell(awaits_begin(since(joined)));
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
    const Node first = node_of(table_.front()).value();
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
        stop = stop || is_asked_for_room();
        if (stop) store_.set(key("stop"), "1");
        return stop;
    }
    return !get("stop").empty();
}

Decision Rendezvous::lead_decision() {
    Decision decision;
    decision.joined = is_asked_for_room();
    const auto end_by = [&](int signal) {
        decision.next = Decision::Next::signalled;
        decision.exit_code = 128 + signal;
    };
    bool again = false;
    for (std::size_t node = 0; node < table_.size(); ++node) {
        const int32_t index = table_[node];
        std::string word;
        while ((word = get("result/" + std::to_string(index))).empty()) {
            // A node that says nothing is gone: fewer are left, which is no failure of a worker.
            if (is_lost(index)) break;
            // This node's workers may have ended long before the others', which are told to stop now.
            if (const int signal = options_.signal(); signal != 0) {
                store_.set(key("stop"), "1");
                end_by(signal);
            }
            must_stop();
            pause();
        }
        if (word.empty()) {
            decision.lost.push_back(static_cast<int32_t>(node));
            continue;
        }
        const RoundResult result = unpack_result(word);
        again = again || result.outcome == Outcome::stopped;
        if (result.outcome == Outcome::signalled) {
            decision.stopped.push_back(static_cast<int32_t>(node));
            if (index == index_) end_by(result.signal);
        }
        decision.failures.insert(decision.failures.end(), result.failures.begin(), result.failures.end());
    }
    order_by_cause(decision.failures);
    if (decision.next == Decision::Next::signalled) return decision;
    // What only followed from a node's going is no failure of a worker's.
    const bool node_went = !decision.lost.empty() || !decision.stopped.empty();
    if (node_went && std::ranges::all_of(decision.failures, follows)) {
        for (Failure& failure : decision.failures) failure.secondary = true;
        decision.next = Decision::Next::again;
    } else if (!decision.failures.empty()) {
        const bool again_helps = !is_final(decision.failures.front());
        decision.next = again_helps && restarts_ < options_.max_restarts ? Decision::Next::again
                                                                         : Decision::Next::given_up;
        decision.exit_code = decision.failures.front().exit_code;
        if (decision.next == Decision::Next::again) ++restarts_;
    } else if (again) {
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
    const auto begin = Clock::now();
    while (number(get("left")) < others && since(begin) < options_.lost_after) pause();
}

Decision Rendezvous::decide(const RoundResult& here) {
    const auto tell = [&] { store_.set(key("result/" + std::to_string(index_)), pack_result(here)); };
    Decision decision;
    if (!options_.leads && here.outcome == Outcome::signalled) {
        decision.next = Decision::Next::signalled;
        decision.exit_code = 128 + here.signal;
        try {
            tell();
            claim_.let_go();
        } catch (const Error&) {
            // All nodes may have been told to stop, and the leader was quicker.
        }
        return decision;
    }
    tell();
    if (options_.leads) {
        decision = lead_decision();
        decision.restarts = restarts_;
        decision.max_restarts = options_.max_restarts;
        is_expecting_ = decision.joined;
        store_.set(key("next"), pack_decision(decision));
        if (decision.next != Decision::Next::again) wait_for_readers();
    } else {
        std::string word;
        while ((word = get("next")).empty()) {
            beat();
            pause_or_stop();
        }
        store_.add(key("left"), 1);
        decision = unpack_decision(word);
    }
    ++round_;
    return decision;
}

}  // namespace meshscope::launch
