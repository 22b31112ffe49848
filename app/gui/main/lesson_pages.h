#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/gui/main/first_actions.h"
#include "app/gui/session/document.h"
#include "app/i18n/catalogue.h"

namespace meshscope::gui {

/// What a page of a lesson is made of, for programs that write pages (scripts/site): `folder`/lesson.json
/// with the texts in both languages (numbers filled in, marks as session::make_document leaves them), the
/// questions with their answers and hints, what the variants change, and of each of the lesson's own steps
/// what its picture tells; and the pictures, each in both languages as STEP.LANGUAGE.svg, which follows the
/// reader's light or dark scheme. A step with questions has two, where they differ: STEP.LANGUAGE.asked.svg
/// leaves out what is asked. Of `options` the size counts; `beside` are the runs that the lesson is compared
/// with. The folder is there or is made; a lesson.json in it that is none of ours is refused before anything
/// is drawn. `progress`: how many pictures are drawn, of how many; what it throws ends the work. Needs no
/// display and no GL. Cost: three frames a picture. Returns how many pictures were written. Throws IoError.
int write_lesson_pages(const std::shared_ptr<const session::Document>& document, const Options& options,
                       const Beside& beside, const std::string& folder, const i18n::Catalogue& catalogue,
                       const std::function<void(int done, int all)>& progress);

}  // namespace meshscope::gui
