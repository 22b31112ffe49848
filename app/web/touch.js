// Fingers on the canvas, as the mouse that the program knows. One finger: a tap presses, a move drags, or scrolls where what is
// under it scrolls, and resting for half a second points without pressing, for what is told of things pointed at. What can be taken
// along (a block of a pipeline's grid) is: moved sideways it goes with the finger where other things scroll, and a rest takes it up,
// whichever way it goes then. Two fingers: apart and together zoom as the wheel does, moved together they drag or scroll like one.
'use strict';
function touch(canvas, program) {
  var kSlack = 8, kRest = 500;  // CSS pixels; ms
  var first = null;      // where the first finger came down
  var mode = null;       // 'held', 'pointing', 'dragging', 'scrolling', 'zooming', 'over'
  var last = null;       // the middle of the fingers, and how far they are apart
  var resting = null;
  var pressing = false;  // the program has not drawn a frame yet since it was pressed

  function mouse(kind, at) {
    canvas.dispatchEvent(new MouseEvent(kind, { clientX: at.x, clientY: at.y, button: 0, bubbles: true }));
  }
  function place(touches) {
    var a = touches[0], b = touches[touches.length > 1 ? 1 : 0];
    return { x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2, apart: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) };
  }
  function far(a, b) { return Math.hypot(a.x - b.x, a.y - b.y); }
  function begin(at) {
    first = last = at;
    mode = 'held';
    clearTimeout(resting);
    mouse('mousemove', at);
  }
  // What held fingers came to, once they have moved.
  function choose(at) {
    clearTimeout(resting);
    if (first.apart > 0 && Math.abs(at.apart - first.apart) > far(at, first)) return 'zooming';
    var aside = Math.abs(at.x - first.x) > Math.abs(at.y - first.y);
    if (first.apart === 0 && program.drags() && (aside || !program.scrolls())) return take();
    if (program.scrolls()) return 'scrolling';
    mouse('mousedown', first);
    return 'dragging';
  }
  // What lies where the finger came down is taken along: the program must see it pressed there, in a frame of its own.
  function take() {
    mouse('mousedown', first);
    pressing = true;
    requestAnimationFrame(function () { requestAnimationFrame(function () {
      if (!pressing) return;
      pressing = false;
      mouse('mousemove', last);
    }); });
    return 'dragging';
  }
  function let_go(at) {
    clearTimeout(resting);
    if (mode === 'dragging' && pressing) {
      pressing = false;
      at = first;  // nothing has seen it go anywhere
    }
    if (mode === 'dragging') mouse('mouseup', at);
    if (mode === 'pointing') mouse('mousemove', { x: -1e4, y: -1e4 });  // what was told of is not pointed at any more
    mode = 'over';
  }

  var on = {
    touchstart: function (event) {
      if (event.touches.length > 2) return let_go(last);
      if (event.touches.length === 2) {
        if (mode) let_go(last);
        return begin(place(event.touches));
      }
      begin(place(event.touches));
      resting = setTimeout(function () { mode = program.drags() ? take() : 'pointing'; }, kRest);
    },
    touchmove: function (event) {
      if (!mode || mode === 'over') return;
      var at = place(event.touches);
      if (mode === 'held') {
        if (far(at, first) <= kSlack && Math.abs(at.apart - first.apart) <= kSlack) return;
        mode = choose(at);
      }
      // Where two fingers zoom, the point between them is what stays.
      if (!pressing) mouse('mousemove', mode === 'scrolling' ? first : at);
      if (mode === 'zooming' && at.apart > 0 && last.apart > 0) program.zoom(at.apart / last.apart);
      if (mode === 'scrolling') program.scroll(at.y - last.y);
      last = at;
    },
    touchend: function (event) {
      if (mode === 'held' && event.touches.length === 0 && first.apart === 0) {
        clearTimeout(resting);
        mode = null;
        var at = first;
        mouse('mousedown', at);
        if (program.over_field()) program.type(at);
        // The program must have seen it pressed in a frame of its own.
        requestAnimationFrame(function () { requestAnimationFrame(function () { mouse('mouseup', at); }); });
        return;
      }
      if (mode) let_go(last);
      if (event.touches.length === 0) mode = null;
    },
    touchcancel: function () {
      if (mode) let_go(last);
      mode = null;
    }
  };
  Object.keys(on).forEach(function (kind) {
    // Before the program's own, which takes the first finger for a button wherever the mouse was.
    window.addEventListener(kind, function (event) {
      if (event.target !== canvas) return;
      event.stopImmediatePropagation();
      if (!program.takes()) return;  // the browser scrolls with it, or makes a click of it
      event.preventDefault();
      if (kind === 'touchstart') canvas.focus();
      on[kind](event);
    }, { capture: true, passive: false });
  });
}
