// What a page of the site does beyond being read: the language that was chosen is remembered, questions are
// answered, the live page opens at a step. Everything is there to read without it.
(function () {
  'use strict';

  // Questions, judged by the rules of core/scenario/evaluate.cpp

  // A number as people write it: "7168", "7,168", "7168 B", "−1.5" (the minus sign of print); null for what is none.
  function to_number(text) {
    var found = /^[ \t]*([-−+]?)([\d,]*)(.*)$/.exec(text);
    if (!found || !/^(\d*|\d{1,3}(,\d{3})+)$/.test(found[2])) return null;
    var plain = found[2].replace(/,/g, '') + found[3], number = /^(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i.exec(plain);
    if (!number || /[\d,.]/.test(plain.slice(number[0].length))) return null;
    var value = Number(number[0]);
    return !isFinite(value) ? null : found[1] === '-' || found[1] === '−' ? -value : value;
  }
  function list_items(text) {
    return text.replace(/[\[\]()]/g, '').split(/[,， 、\t]/).filter(function (item) { return item !== ''; });
  }
  // Ranks in ascending order, each once; null when an item is no rank.
  function rank_set(text) {
    var items = list_items(text);
    if (!items.every(function (item) { return /^-?\d+$/.test(item); })) return null;
    return items.map(Number).sort(function (x, y) { return x - y; })
      .filter(function (rank, at, all) { return at === 0 || rank !== all[at - 1]; });
  }
  function is_readable(kind, given) {
    if (kind === 'number') return to_number(given) !== null;
    if (kind === 'ranks') return (rank_set(given) || []).length > 0;
    return list_items(given).length > 0;
  }
  function is_right(kind, tolerance, given, answer) {
    if (!is_readable(kind, given) || !is_readable(kind, answer)) return false;
    if (kind === 'number') return Math.abs(to_number(given) - to_number(answer)) <= tolerance;
    var items = kind === 'ranks' ? rank_set : list_items;
    return items(given).join(' ').toLowerCase() === items(answer).join(' ').toLowerCase();
  }
  // What is unreadable is a slip, no guess.
  function judge(quiz, given) {
    if (!is_readable(quiz.kind, given)) return { look: '', words: quiz.empty };
    if (is_right(quiz.kind, quiz.tolerance, given, quiz.answer)) return { look: 'right', words: quiz.right };
    var hint = quiz.hints.filter(function (each) { return is_right(quiz.kind, quiz.tolerance, given, each[0]); })[0];
    return { look: 'wrong', words: quiz.wrong, hint: hint && hint[1] };
  }
  if (typeof module !== 'undefined') {
    module.exports = { judge: judge };
    return;
  }

  var kept = {
    get: function () { try { return localStorage.getItem('meshscope-site-language'); } catch (error) { return null; } },
    set: function (language) { try { localStorage.setItem('meshscope-site-language', language); } catch (error) { /* private */ } }
  };
  function each(selector, act) { Array.prototype.forEach.call(document.querySelectorAll(selector), act); }

  // Language

  each('[data-language]', function (link) {
    link.addEventListener('click', function () {
      kept.set(link.dataset.language);
      // The same place in the other language, where both have the same anchors.
      if (link.dataset.anchors === 'same' && location.hash) link.hash = location.hash;
    });
  });
  each('.choose', function (choice) {
    var languages = choice.dataset.languages.split(' '), wanted = kept.get();
    if (languages.indexOf(wanted) < 0) {
      var first = (navigator.languages && navigator.languages[0]) || navigator.language || '';
      wanted = /^zh\b/i.test(first) ? 'zh' : 'en';
    }
    if (languages.indexOf(wanted) < 0) wanted = languages[0];
    location.replace(wanted + '/index.html');
  });

  // On a narrow screen a page's contents stand before its text, and are closed.
  if (!matchMedia('(min-width: 68rem)').matches) each('.contents details', function (list) { list.open = false; });

  // Questions

  function given_in(form) {
    var chosen = form.querySelector('input[type=radio]:checked'), field = form.querySelector('input[type=text]');
    return chosen ? chosen.value : field ? field.value.trim() : '';
  }
  each('.question', function (form) {
    var quiz = JSON.parse(form.dataset.quiz), verdict = form.querySelector('.verdict');
    form.querySelector('button').hidden = false;
    form.addEventListener('submit', function (event) {
      event.preventDefault();
      var judged = judge(quiz, given_in(form));
      verdict.className = 'verdict ' + judged.look;
      // A hint is the page's own HTML: the lesson's text with its marks.
      if (judged.hint) verdict.innerHTML = judged.hint; else verdict.textContent = judged.words;
      if (judged.look === 'right') form.querySelector('details').open = true;
    });
    form.addEventListener('input', function () {
      verdict.className = 'verdict';
      verdict.textContent = '';
    });
  });

  // The live page: one, moved to the step that it was asked for

  each('.lesson', function (lesson) {
    var words = JSON.parse(lesson.dataset.words), stage = null;
    function close() {
      if (stage) stage.remove();
      stage = null;
      each('[data-live]', function (button) { button.textContent = words.live_step; });
    }
    function open(button) {
      var again = button.textContent === words.live_close;
      close();
      if (again) return;
      stage = document.createElement('div');
      stage.className = 'stage';
      var note = document.createElement('p');
      note.className = 'caption';
      note.textContent = words.live_note;
      var frame = document.createElement('iframe');
      frame.title = words.live_title;
      frame.src = lesson.dataset.livePage + '#' + button.dataset.live;
      stage.append(note, frame);
      button.closest('.live').after(stage);
      button.textContent = words.live_close;
      frame.focus();
    }
    each('[data-live]', function (button) {
      button.hidden = false;
      button.addEventListener('click', function () { open(button); });
    });
  });
}());
