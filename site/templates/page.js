// What a page of the site does beyond being read: the language that was chosen is remembered, questions are
// answered, the live page opens at a step. Everything is there to read without it.
(function () {
  'use strict';

  var kept = {
    get: function () { try { return localStorage.getItem('meshscope-site-language'); } catch (error) { return null; } },
    set: function (language) { try { localStorage.setItem('meshscope-site-language', language); } catch (error) { /* private */ } }
  };
  function each(selector, act) { Array.prototype.forEach.call(document.querySelectorAll(selector), act); }

  // Language

  each('[data-language]', function (link) {
    link.addEventListener('click', function () {
      kept.set(link.dataset.language);
      // The same place in the other language: both have the same anchors.
      if (link.classList.contains('language') && location.hash) link.hash = location.hash;
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

  // Questions, judged as the window does

  function numbers(text) {
    return (text.replace(/(\d),(?=\d{3}(?!\d))/g, '$1').replace(/−/g, '-').match(/-?\d+(\.\d+)?(e[-+]?\d+)?/gi) || []).map(Number);
  }
  function items(text) {
    return text.replace(/[\[\]()]/g, ' ').split(/[\s,，、;；→>]+/).filter(function (item) { return item !== ''; });
  }
  function same(kind, tolerance, given, answer) {
    if (kind === 'order') {
      return items(given).length > 0 && items(given).join(' ').toLowerCase() === items(answer).join(' ').toLowerCase();
    }
    var list = function (text) {
      return kind === 'ranks' ? items(text).map(Number).sort(function (x, y) { return x - y; }) : numbers(text);
    };
    var a = list(given), b = list(answer);
    return a.length > 0 && a.length === b.length && a.every(function (x, at) { return Math.abs(x - b[at]) <= tolerance; });
  }
  function given_in(form) {
    var chosen = form.querySelector('input[type=radio]:checked'), field = form.querySelector('input[type=text]');
    return chosen ? chosen.value : field ? field.value.trim() : '';
  }
  function judge(quiz, given) {
    if (given === '') return { look: '', words: quiz.empty };
    if (same(quiz.kind, quiz.tolerance, given, quiz.answer)) return { look: 'right', words: quiz.right };
    var hint = quiz.hints.filter(function (each) { return same(quiz.kind, quiz.tolerance, given, each[0]); })[0];
    return { look: 'wrong', words: quiz.wrong, hint: hint && hint[1] };
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
