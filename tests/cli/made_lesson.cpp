#include "tests/cli/made_lesson.h"

namespace made_lesson {

const std::string kHead = R"(format = 1
title = { en = "A lesson", zh = "一课" }
[model]
kind = "toy"
[train]
steps = 2
global_batch = 8
[mesh]
shape = [2]
[parallel]
data = "fsdp2"
)";
const std::string kScenario = kHead + R"([lesson]
chapter = 1
[[lesson.step]]
id = "one"
at = "SELECT id FROM collectives WHERE rank = 0 LIMIT 1"
[[lesson.number]]
id = "gathers"
sql = "SELECT count(*) FROM collectives WHERE rank = 0 AND op = 'all_gather' AND step = 1"
[[lesson.variant]]
id = "break"
set = { "mesh.shape" = [3] }
ends = "scenario.batch_does_not_divide"
[[lesson.variant]]
id = "change"
set = { "parallel.reshard_after_forward" = false }
[[lesson.variant.number]]
id = "gathers"
sql = "SELECT count(*) FROM collectives WHERE rank = 0 AND op = 'all_gather' AND step = 1"
[[quiz]]
id = "how-many"
step = "one"
kind = "number"
question = { en = "How many gathers?", zh = "收集几次？" }
answer = "SELECT count(*) FROM collectives WHERE rank = 0 AND op = 'all_gather' AND step = 1"
reveal = { en = "There are {{gathers}}.", zh = "共 {{gathers}} 次。" }
[[quiz.hint]]
when = "1"
en = "Backward needs one too."
zh = "反向也要一次。"
[[quiz]]
id = "who"
step = "one"
kind = "ranks"
question = { en = "Which ranks?", zh = "哪些 rank？" }
answer = "SELECT group_ranks FROM collectives WHERE rank = 0 LIMIT 1"
[[check]]
id = "one scatter"
sql = "SELECT sum(op = 'reduce_scatter') = 1 FROM collectives WHERE rank = 0 AND step = 1"
)";
const std::string kText = R"(# A lesson

## goals: Goals

- Count gathers.
- Change them.

## one: Gathering

On [rank 1](rank:1) there are {{gathers}} gathers along [shard](dim:shard).

| what | gathers |
| --- | ---: |
| 一步 | {{gathers}} |
| kept | {{change.gathers}} |

## break: Three ranks

8 samples on 3 ranks.

## change: Kept whole

Now {{change.gathers}}.

## summary: Summary

- a
- b
- c
- d
- e
)";

void write_lesson(const program::Folder& folder, const std::string& scenario, const std::string& text) {
    folder.write("11_a/scenario.toml", scenario);
    folder.write("11_a/lesson.en.md", text);
    folder.write("11_a/lesson.zh.md", text);
}

std::string flat(const std::string& text) {
    std::string flat;
    for (const char c : text)
        if (c != ' ' && c != '\n' && c != '\r') {
            flat += c;
        } else if (!flat.ends_with(' ')) {
            flat += ' ';
        }
    return flat;
}

}  // namespace made_lesson
