#include <utility>

#include "app/gui/main/options.h"
#include "app/gui/view/state.h"

namespace meshscope::gui {
namespace {

constexpr const char* kEnglish = R"(meshscope-app: watch a distributed training run, step by step

Usage: meshscope-app [FILE.mscope | scenario.toml | LESSON] … [options]

Without a file the window opens the list of lessons. A scenario or lesson is run first. Two to four files are shown
side by side.

Window
  --lang en|zh              language (default: the system's)
  --theme dark|light|contrast
  --scale 0.75 … 3          scale of text and pictures
  --view {views}
  --form WORD               form of a view (docs/window.md tells what each shows):
{forms}
  --step N                  the lesson's step to start on, from 1; --frames 1 shows that step's moment
  --rank R                  the selected rank
  --at EVENT|TIME           the cursor: rank R's event 1042, or 12.5ms
  --clock modelled|measured
  --reduced-motion          without animation
  --plain                   pictures without shaders
  --size 1280x720           of the window or the frames

Without a display
  --export FILE             what the window shows; FILE's ending says how: .png .svg .gif .mp4
                            .html (a page with the run inside: meshscope.html, docs/web.md)
  --steps 10:20             of a page: steps 10 to 19 alone
  --force                   overwrite files that meshscope did not write, too
  --render FOLDER           write frame_00000.png … there
  --from 0 --to 1           the part of the run to show, as fractions
                            A film (--render, .gif, .mp4) of a lesson plays its steps, each in its own view, without
                            the questions. With --view, --step, --rank, --at or a part of the run it plays that
                            instead; of a run without a lesson it shows the timeline, or --view.
  --film tour|window        the picture with captions, or the window as a person sees it (default:
                            tour for a lesson's steps, else window)
  --frames N                number of frames (default: --seconds × --fps)
  --seconds S --fps 30      (a tour without --seconds or --frames: as long as each step's
                            first sentence takes to read)
  --mp4 FILE                and make a film of them with ffmpeg
  --lesson-pages FOLDER     of a lesson: texts, questions and answers as lesson.json, each step's
                            picture as SVG, in both languages

For testing
  --bench N                 time N frames drawn off screen; prints JSON
  --bench-app               the same for every view, and for a trace of a million events
  --dump-state FILE         write the window's state to FILE as JSON

  --help, --version

Examples
  meshscope-app hsdp
  meshscope-app run.mscope --lang zh --view timeline
  meshscope-app ddp.mscope hsdp.mscope
  meshscope-app hsdp --view memory --export peak.svg
  meshscope-app hsdp --render frames --seconds 10 --mp4 hsdp.mp4

In the window, ? lists the keys. Exit codes: 0 fine, 2 usage, 65 bad input, 69 no display or no EGL, 74 input/output,
129, 130 and 143 stopped by a closed terminal (SIGHUP), Ctrl-C or SIGTERM.
)";

constexpr const char* kChinese = R"(meshscope-app：一步一步看一次分布式训练

用法：meshscope-app [FILE.mscope | scenario.toml | 课程名] … [选项]

不给文件时，窗口打开课程页。场景和课程都会先真正运行一次。给两到四个时并排对比。

窗口
  --lang en|zh              语言（默认用系统的）
  --theme dark|light|contrast
  --scale 0.75 … 3          文字和图形的缩放
  --view {views}
  --form WORD               视图的样式（各样式画什么，见 docs/window.md）：
{forms}
  --step N                  从课程的第几步开始，从 1 数起
  --rank R                  选中哪个 rank
  --at EVENT|TIME           光标：rank R 的第 1042 个事件，或 12.5ms
  --clock modelled|measured 建模时钟或实测时钟
  --reduced-motion          不播放动画
  --plain                   画面不用着色器
  --size 1280x720           窗口或帧的大小

没有显示器时
  --export FILE             导出看到的画面，格式由 FILE 的后缀决定：.png .svg .gif .mp4
                            .html（包含这次运行的网页，见 docs/web.md 的 meshscope.html）
  --steps 10:20             网页里只要第 10 到 19 步
  --force                   即使同名文件不是 meshscope 写的，也覆盖它
  --render FOLDER           把 frame_00000.png … 写到那里
  --from 0 --to 1           运行的哪一段，用比例表示
                            课程的影片（--render、.gif、.mp4）依次播放课程的每一步，各用自己的视图，不含提问。
                            给了 --view、--step、--rank、--at 或只要运行的一段时，就只播放指定的内容；
                            没有课程的运行显示时间线，也可以用 --view 指定。
  --film tour|window        只有画面和字幕，或者整个窗口（默认：课程的各步用 tour，其余用 window）
  --frames N                多少帧（否则是 --seconds × --fps）
  --seconds S --fps 30      （课程影片没给 --seconds 或 --frames 时，按读完每一步第一句话的时间来定）
  --mp4 FILE                再用 ffmpeg 做成影片
  --lesson-pages FOLDER     把课程的文字、提问和答案写成 lesson.json，每一步的画面存为 SVG，中英文都有

测试用
  --bench N                 离屏画 N 帧并计时，输出 JSON
  --bench-app               每个视图，再加一份一百万个事件的记录
  --dump-state FILE         把窗口的状态以 JSON 写在 FILE 里

  --help, --version

例子
  meshscope-app hsdp
  meshscope-app run.mscope --lang zh --view timeline
  meshscope-app ddp.mscope hsdp.mscope
  meshscope-app hsdp --view memory --export peak.svg
  meshscope-app hsdp --render frames --seconds 10 --mp4 hsdp.mp4

在窗口里，按 ? 列出按键。退出码：0 正常，2 用法错误，65 输入有误，69 没有显示器或 EGL，74 读写失败，
129、130 和 143 表示因终端关闭（SIGHUP）、Ctrl-C 或 SIGTERM 而终止。
)";

}  // namespace

std::string help_text(i18n::Language language) {
    std::string text = language == i18n::Language::zh ? kChinese : kEnglish, views, forms;
    for (const std::string_view name : kViewNames) {
        views += (views.empty() ? "" : "|") + std::string(name);
        if (const std::string words = form_words(name, "|"); !words.empty())
            forms += (forms.empty() ? "" : "\n") + std::string(28, ' ') + std::string(name) + ": " + words;
    }
    for (const auto& [mark, words] :
         {std::pair<std::string, std::string>{"{views}", views}, {"{forms}", forms}})
        text.replace(text.find(mark), mark.size(), words);
    return text;
}

std::string version_line() {
    return std::string("meshscope-app ") + MESHSCOPE_VERSION + "\n";
}

}  // namespace meshscope::gui
