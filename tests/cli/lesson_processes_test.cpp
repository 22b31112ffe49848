// Lessons whose ranks are processes: started, merged, held to the same text.
#include <algorithm>

#include "core/trace/store.h"
#include "tests/cli/made_lesson.h"
#include "tests/cli/program.h"
#include "tests/test.h"

namespace trace = meshscope::trace;
using made_lesson::kHead;

namespace {

const std::string kLesson = R"([lesson]
chapter = 1
@ONLY@
[[lesson.step]]
id = "one"
[[lesson.number]]
id = "gathers"
sql = "SELECT count(*) FROM collectives WHERE rank = 1 AND op = 'all_gather'"
[[lesson.variant]]
id = "break"
set = { faults = [{ kind = "skip", rank = 1, step = 1, rule = "fsdp2.reduce_scatter.gradients" }] }
ends = "comm.peer_finished"
[[lesson.variant]]
id = "change"
set = { "mesh.shape" = [4] }
[[lesson.variant.number]]
id = "ranks"
sql = "SELECT count(DISTINCT rank) FROM collectives"
[[lesson.variant]]
id = "dead"
set = { faults = [{ kind = "kill", rank = 1, step = 1 }] }
ends = "diagnosis.lost"
[[lesson.variant]]
id = "other"
set = { faults = [{ kind = "mismatch", field = "count", rank = 1, step = 1, phase = "forward" }] }
ends = "diagnosis.mismatch_tie"
[[quiz]]
id = "how-many"
step = "one"
kind = "number"
question = { en = "How many gathers?", zh = "收集几次？" }
answer = "SELECT count(*) FROM collectives WHERE rank = 1 AND op = 'all_gather'"
)";
const std::string kWhole = R"([[check]]
id = "both ranks, two steps"
sql = "SELECT count(DISTINCT rank) = 2 AND max(step) = 1 FROM collectives"
)";
/// Of a run that fails in step 1: what both ranks recorded, the failure, and the losses up to there.
const std::string kFault = R"([[faults]]
kind = "mismatch"
field = "count"
rank = 1
step = 1
phase = "forward"
)";
const std::string kFailed = R"([[check]]
id = "both ranks up to the call that differs"
sql = "SELECT count(DISTINCT rank) = 2 AND max(step) = 1 AND sum(step = 0 AND rank = 0) = 3 AND sum(step = 0 AND rank = 1) = 3 FROM collectives"
[[check]]
id = "the diagnosis"
sql = "SELECT json_extract(value, '$.diagnosis.kind') = 'mismatch' FROM meta WHERE key = 'failure'"
[[check]]
id = "one loss"
sql = "SELECT count(*) = 1 AND max(loss) > 0 FROM losses"
)";
const std::string kText =
    "# A lesson\n\n## goals: Goals\n\n- a\n- b\n\n## one: One\n\nThere are {{gathers}}.\n\n"
    "| what | gathers |\n| --- | --- |\n| gathers | {{gathers}} |\n| thousands | 1,000 |\n\n"
    "## break: Broken\n\nIt breaks.\n\n## change: Changed\n\n{{change.ranks}} ranks.\n\n"
    "## summary: Summary\n\n- a\n- b\n- c\n- d\n- e\n";

class Lesson {
  public:
    Lesson(const std::string& before, const std::string& checks, const std::string& only = "") {
        std::string lesson = kLesson;
        lesson.replace(lesson.find("@ONLY@"), 6, only);
        folder_.write("11_a/scenario.toml", kHead + before + lesson + checks);
        folder_.write("11_a/lesson.en.md", kText);
        folder_.write("11_a/lesson.zh.md", kText);
    }
    program::Ended run(const std::string& what, std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"lesson", what, "a", "--scenarios", folder_.file("")};
        words.insert(words.end(), more.begin(), more.end());
        return program::run(words);
    }
    std::string file(const std::string& name) const { return folder_.file(name); }

  private:
    program::Folder folder_;
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lesson check starts processes for the lesson and each variant, of as many ranks as each has") {
    const Lesson lesson("", kWhole);
    const auto ended = lesson.run("check", {"--backend", "tcp"});
    INFO(ended.out << ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(has(ended.out, "ok      11_a  check both ranks, two steps\n"));
    CHECK(has(ended.out, "ok      11_a  quiz how-many\n"));
    CHECK(has(ended.out, "ok      11_a  variant change\n"));
    CHECK(has(ended.out, "ok      11_a  number change.ranks\n"));
    CHECK(has(ended.out, "ok      11_a  variant dead\n"));   // its process was killed, the other says so
    CHECK(has(ended.out, "ok      11_a  variant other\n"));  // both say that their calls differ
    CHECK(has(ended.out, "skipped  11_a  variant break: comm.peer_finished is only known exactly when"));
    CHECK(!has(ended.out, "failed"));
    CHECK(lesson.run("numbers", {"--backend", "tcp"}).out == lesson.run("numbers").out);
    CHECK(has(lesson.run("numbers", {"--backend", "tcp"}).out, "change.ranks = 4\n"));
}

TEST_CASE("a promise that does not hold between processes fails the check") {
    std::string wrong = kWhole;
    wrong.replace(wrong.find("= 2 AND"), 7, "= 3 AND");
    const auto ended = Lesson("", wrong).run("check", {"--backend", "tcp"});
    CHECK(ended.exit_code == 1);
    CHECK(has(ended.out, "failed  11_a  check both ranks, two steps: "));
    CHECK(has(ended.out, ": the query returned 0\n"));
}

TEST_CASE(
    "of a run that fails between processes each rank's part is joined, for the lesson and for --trace") {
    const Lesson lesson(kFault, kFailed);
    const auto ended = lesson.run("check", {"--backend", "tcp"});
    INFO(ended.out << ended.err);
    CHECK(ended.exit_code == 1);  // variants set the faults anew, but `change` keeps the lesson's and fails
    CHECK(has(ended.out, "ok      11_a  check both ranks up to the call that differs\n"));
    CHECK(has(ended.out, "ok      11_a  check the diagnosis\n"));
    CHECK(has(ended.out, "ok      11_a  check one loss\n"));
    CHECK(has(ended.out, "variant change must run to its end, but ended with diagnosis.mismatch"));
    const std::string file = lesson.file("failed.mscope");
    const auto run =
        program::run({"run", lesson.file("11_a/scenario.toml"), "--backend", "tcp", "--trace", file});
    CHECK(run.exit_code == 1);
    CHECK(has(run.err, "failed.mscope"));
    const trace::Trace whole = trace::read_trace(file);
    CHECK(whole.info.backend == "tcp");
    CHECK(whole.info.losses.size() == 1);
    for (const trace::RankTrace& rank : whole.ranks) CHECK(rank.events.size() > 10);
    const std::string threads = lesson.file("threads.mscope");
    program::run({"run", lesson.file("11_a/scenario.toml"), "--trace", threads});
    const trace::Trace same = trace::read_trace(threads);
    CHECK(same.info.losses == whole.info.losses);
    for (std::size_t r = 0; r < same.ranks.size(); ++r)
        CHECK(same.ranks[r].events.size() == whole.ranks[r].events.size());
}

TEST_CASE("a lesson that is true of threads alone says why, and is not run between processes") {
    const Lesson lesson("", kWhole, R"(only_threads = { en = "who waits is seen", zh = "看得见谁在等" })");
    const auto check = lesson.run("check", {"--backend", "tcp"});
    CHECK(check.exit_code == 0);
    CHECK(check.out == "skipped  11_a: who waits is seen\n");
    CHECK(lesson.run("check", {"--backend", "tcp", "--lang", "zh"}).out == "跳过  11_a: 看得见谁在等\n");
    CHECK(lesson.run("check").exit_code == 0);
    const auto told = lesson.run("run", {"--backend", "tcp"});
    CHECK(told.exit_code == 2);
    CHECK(has(told.err, "11_a only runs with all ranks in one process (threads, fibers): who waits is seen"));
}

TEST_CASE("a lesson is told from processes as from threads, and its trace says so") {
    const Lesson lesson("", kWhole);
    const std::string file = lesson.file("t.mscope");
    const auto told = lesson.run("run", {"--backend", "tcp", "--no-input", "--trace", file});
    INFO(told.err);
    CHECK(told.exit_code == 0);
    CHECK(has(told.out, "There are 4.\n"));
    CHECK(has(told.out, "what       gathers\ngathers          4\nthousands    1,000\n"));
    CHECK(trace::read_trace(file).info.backend == "tcp");
}

TEST_CASE("what a lesson's run ended with is told after its questions") {
    const Lesson lesson(kFault, kFailed);
    const auto told = lesson.run("run", {"--no-input"});
    const std::size_t answer = told.out.find("Answer: "), end = told.out.find("do not make the same call");
    CHECK(answer != std::string::npos);
    CHECK(end != std::string::npos);
    CHECK(answer < end);
    CHECK(!has(told.err, "do not make the same call"));
}

TEST_CASE("a variant of a scenario can be run by its name") {
    const Lesson lesson("", kWhole);
    const std::string path = lesson.file("11_a/scenario.toml");
    CHECK(has(program::run({"run", path, "--variant", "change"}).out, "4 ranks, 2 steps"));
    const auto unknown = program::run({"run", path, "--variant", "chance"});
    CHECK(unknown.exit_code == 2);
    CHECK(has(unknown.err, "break, change, dead, other"));
}
