// Text for the window's fields. While one of them is typed into, a field of the page's own, which nobody sees, has the keyboard: so
// input methods, a touch screen's keyboard and pasting work as in every page. What comes of it goes on as key presses, of which the
// program knows nothing but the letters.
'use strict';
function typing(canvas, program) {
  var kEnter = 13, kBackspace = 8, kUnknown = 229;  // key codes; the last is what an input method takes
  var kEmpty = ' ';  // never quite empty, or a touch screen's keyboard would have nothing to delete and say nothing
  // ms: until the program has seen the tap that a finger opened the keyboard with; for which it may want no text between two
  // answers, where a touch screen's keyboard that was closed would not open again.
  var kUntilSeen = 1000, kBetween = 300;
  var until = 0;  // when the field has the keyboard no longer
  var field = document.createElement('textarea');
  field.id = 'typing';
  Object.entries({ autocomplete: 'off', autocapitalize: 'off', autocorrect: 'off', spellcheck: 'false', tabindex: '-1', rows: '1' })
    .forEach(function (pair) { field.setAttribute(pair[0], pair[1]); });
  field.value = kEmpty;
  document.body.appendChild(field);

  function key(kind, code, letter) {
    var event = new KeyboardEvent(kind, { bubbles: true });
    // What the constructor takes of these differs from browser to browser.
    [['keyCode', code], ['which', code], ['charCode', letter]].forEach(function (pair) {
      Object.defineProperty(event, pair[0], { value: pair[1] });
    });
    field.dispatchEvent(event);
  }
  function tap(code) {
    key('keydown', code, 0);
    key('keyup', code, 0);
  }
  function write(text) {
    Array.from(text.replace(/\s*[\r\n]+\s*/g, ' ')).forEach(function (letter) { key('keypress', 0, letter.codePointAt(0)); });
  }
  function empty() {
    field.value = kEmpty;
    field.setSelectionRange(kEmpty.length, kEmpty.length);
  }
  field.addEventListener('input', function (event) {
    if (event.isComposing) return;
    if (/^delete.*Backward$/.test(event.inputType)) tap(kBackspace);
    else if (/^insertLineBreak|^insertParagraph/.test(event.inputType)) tap(kEnter);
    else if (event.data && event.inputType !== 'insertCompositionText') write(event.data);
    empty();
  });
  field.addEventListener('compositionend', function (event) {
    write(event.data || '');
    empty();
  });
  field.addEventListener('paste', function (event) {
    event.preventDefault();
    write(event.clipboardData.getData('text'));
  });
  // Letters come from above; and of a key that an input method takes nobody else hears.
  ['keydown', 'keypress', 'keyup'].forEach(function (kind) {
    window.addEventListener(kind, function (event) {
      if (event.target !== field || !event.isTrusted) return;
      if (kind === 'keypress' || event.isComposing || event.keyCode === kUnknown) event.stopImmediatePropagation();
      if (kind === 'keydown' && event.keyCode === kEnter && !event.isComposing) event.preventDefault();
    }, true);
  });
  return {
    has_keyboard: function () { return document.activeElement === canvas || document.activeElement === field; },
    // A finger lifted from a field: browsers show the keyboard only while they tell of the finger.
    open: function () {
      until = performance.now() + kUntilSeen;
      empty();
      field.focus();
    },
    // Once a frame: the keyboard is the field's while the program wants text.
    follow: function () {
      if (program.wants_text()) {
        until = Math.max(until, performance.now() + kBetween);
        var at = program.caret();
        field.style.left = at[0] + 'px';
        field.style.top = at[1] + 'px';
        if (document.activeElement !== canvas) return;
        empty();
        field.focus({ preventScroll: true });
      } else if (document.activeElement === field && performance.now() > until) {
        canvas.focus();
      }
    }
  };
}
