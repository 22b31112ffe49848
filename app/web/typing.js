// Text for the window's fields. While one of them is typed into, an invisible field of the page's own has the keyboard: so input
// methods, a touch screen's keyboard and pasting work as in every page. What comes of it becomes key presses, the only text that the
// program knows.
'use strict';
function typing(canvas, program) {
  var kEnter = 13, kBackspace = 8, kUnknown = 229;  // key codes; the last stands for what an input method takes
  var kEmpty = ' ';  // never quite empty, or a touch screen's keyboard would have nothing to delete and say nothing
  // ms. After a tap the field keeps the keyboard until the program has seen it. Between two answers the program wants no text for a
  // moment, and a touch screen's keyboard that closed then would not open again by itself.
  var kUntilSeen = 1000, kBetween = 300;
  var keeps_until = 0;
  var clipboard = '', control = false;
  var field = document.createElement('textarea');
  field.id = 'typing';
  Object.entries({ autocomplete: 'off', autocapitalize: 'off', autocorrect: 'off', spellcheck: 'false', tabindex: '-1', rows: '1',
    'aria-label': 'Meshscope', 'aria-describedby': 'told' })
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
  function press(code) {
    key('keydown', code, 0);
    key('keyup', code, 0);
  }
  function write(text) {
    Array.from(text).forEach(function (letter) { key('keypress', 0, letter.codePointAt(0)); });
  }
  function reset() {
    field.value = kEmpty;
    field.setSelectionRange(kEmpty.length, kEmpty.length);
  }
  function place(at) {
    field.style.left = at[0] + 'px';
    field.style.top = at[1] + 'px';
  }
  field.addEventListener('input', function (event) {
    if (event.isComposing) return;
    if (/^delete.*Backward$/.test(event.inputType)) press(kBackspace);
    else if (/^insertLineBreak|^insertParagraph/.test(event.inputType)) press(kEnter);
    else if (event.data && event.inputType !== 'insertCompositionText') write(event.data);
    reset();
  });
  // What is being composed is seen where the caret is.
  field.addEventListener('compositionstart', function () { field.className = 'composing'; });
  field.addEventListener('compositionend', function (event) {
    field.className = '';
    write(event.data || '');
    reset();
  });
  // All fields have one line. By Ctrl+V the program asks for the text itself, and takes no letters while Ctrl is down.
  field.addEventListener('paste', function (event) {
    event.preventDefault();
    clipboard = event.clipboardData.getData('text').trim().replace(/\s*[\r\n]+\s*/g, ' ');
    if (!control) write(clipboard);
  });
  // The program copies its own selection.
  ['copy', 'cut'].forEach(function (kind) {
    field.addEventListener(kind, function (event) { event.preventDefault(); });
  });
  // Letters come from the handlers above. Keys that an input method takes are hidden from the program.
  ['keydown', 'keypress', 'keyup'].forEach(function (kind) {
    window.addEventListener(kind, function (event) {
      if (!event.isTrusted) return;
      control = event.ctrlKey;
      if (event.target !== field || kind === 'keyup') return;
      if (kind === 'keypress' || event.isComposing || event.keyCode === kUnknown) event.stopImmediatePropagation();
      else if (event.keyCode === kEnter) event.preventDefault();
    }, true);
  });
  return {
    has_keyboard: function () { return document.activeElement === canvas || document.activeElement === field; },
    pasted: function () { return clipboard; },
    // A finger was lifted from a field, there: browsers show the keyboard only while they tell of the finger.
    open: function (at) {
      keeps_until = performance.now() + kUntilSeen;
      place([at.x, at.y]);
      reset();
      field.focus();
    },
    // Once a frame: the keyboard is the field's while the program wants text.
    follow: function () {
      if (program.wants_text()) {
        keeps_until = Math.max(keeps_until, performance.now() + kBetween);
        place(program.caret());
        if (document.activeElement !== canvas) return;
        reset();
        field.focus({ preventScroll: true });
      } else if (document.activeElement === field && performance.now() > keeps_until) {
        canvas.focus({ preventScroll: true });
      }
    }
  };
}
