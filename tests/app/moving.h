#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/sandbox/draft.h"
#include "app/gui/session/document.h"
#include "app/gui/view/pipeline_blocks.h"
#include "harness.h"

namespace meshscope::test {

std::shared_ptr<const session::Document> pipeline_run();

/// The lesson's pipeline with some keys changed, without its lesson.
std::shared_ptr<const session::Document> run_changed(const std::vector<sandbox::Change>& changes);

std::shared_ptr<const view::PipelineGrid> step_grid(const session::Document& run);

/// "F0 B0 F1 …" of a rank in step 1.
std::string order_of(const session::Document& run, std::size_t lane);

/// A run of that text as the window's outside makes it, told to the window.
std::shared_ptr<const session::Document> answer(Harness& app);

/// The lesson's run without its steps, so that no question is open: its grid in step 1.
std::shared_ptr<const session::Document> show_grid(Harness& app);

view::Point middle(const Harness& app, std::size_t lane, std::size_t block);

bool tells(Harness& app, const std::string& words);

}  // namespace meshscope::test
