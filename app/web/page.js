// What the page does before and beside the program (emscripten's Module): unpacks it and the record that the page may hold,
// reads the link, keeps settings, gives files to the visitor. The one-file page asks the network for nothing, and its content
// policy forbids it; the page in parts fetches its parts from its own host.
'use strict';
var Module = (function () {
  var asked = new URLSearchParams(location.hash.slice(1));
  // The record that an export put here (app/html/page.cpp), with the words of a link to what it shows first; the reader's link
  // goes before them, and one to a lesson leads to that.
  var held = document.getElementById('record'), record = null;
  if (held.dataset.name && !asked.get('lesson')) {
    record = { path: '/records/' + decodeURIComponent(held.dataset.name).replace(/[\/\0]/g, '_'), text: held.textContent };
    new URLSearchParams(held.dataset.place).forEach(function (value, name) {
      if (!asked.has(name)) asked.set(name, value);
    });
  }
  // This page without it as a file, into which an export puts another, before anything here changes the page.
  held.textContent = '';
  held.removeAttribute('data-name');
  held.removeAttribute('data-place');
  var template = '<!DOCTYPE html>\n' + document.documentElement.outerHTML + '\n';
  var chinese = /^zh/i.test(asked.get('lang') || (navigator.languages && navigator.languages[0]) || navigator.language || '');
  var words = chinese
    ? { loading: 'Meshscope 正在启动…', whole: '在新标签页打开 ↗',
        no_graphics: '这个浏览器不提供 WebGL 2，Meshscope 无法绘图。请换一个较新的浏览器，或者打开硬件加速（设置 → 系统）。',
        lost: '浏览器收回了绘图设备。请重新载入页面；学习进度已经保存。',
        too_old: '这个浏览器太旧：它不能解压页面里的程序。请用 2023 年以后的 Chrome、Edge、Firefox 或 Safari。' }
    : { loading: 'Meshscope is starting…', whole: 'Open in a tab ↗',
        no_graphics: 'This browser has no WebGL 2, so Meshscope cannot draw. Use a newer browser, or turn hardware acceleration on (Settings, System).',
        lost: 'The browser has taken the graphics device away. Load the page again; your progress is kept.',
        too_old: 'This browser is too old to unpack the program in this page. Use Chrome, Edge, Firefox or Safari from 2023 or later.' };
  var canvas = document.getElementById('canvas'), note = document.getElementById('note');
  var kHome = '/home/reader', kKept = 'meshscope:';
  var began = performance.now();

  function tell(text) {
    note.textContent = text;
    note.hidden = !text;
  }
  document.documentElement.lang = chinese ? 'zh' : 'en';
  tell(words.loading);

  // #embed=1: a frame in a course page or a notebook. It takes neither the keyboard nor the wheel from the page around it
  // before it is pressed, and a strip above it opens what it was opened with in a tab of its own.
  var embedded = asked.get('embed') === '1';
  if (embedded) {
    var strip = document.getElementById('strip'), whole = strip.querySelector('a');
    whole.textContent = words.whole;
    whole.href = link_to(null);
    strip.hidden = false;
    canvas.addEventListener('wheel', function (event) {
      if (!keyboard.has_keyboard()) event.stopImmediatePropagation();
    }, true);
    // A finger scrolls the page around it likewise.
    canvas.style.touchAction = 'pan-y';
    canvas.addEventListener('focus', function () { canvas.style.touchAction = ''; });
    canvas.addEventListener('blur', function () { canvas.style.touchAction = 'pan-y'; });
  }
  // This page at a place: name, value, name, value; null: where it was opened, unembedded.
  function link_to(place) {
    var params = new URLSearchParams(place ? '' : location.hash.slice(1));
    params.delete('embed');
    for (var i = 0; place && i + 1 < place.length; i += 2)
      if (!record || place[i + 1] !== record.path) params.set(place[i], place[i + 1]);
    return location.href.replace(/#.*/, '') + '#' + params;
  }

  // One part of the page, as a stream: base64 of gzip in an element of its own, or, for hosts, a file beside the page.
  function part(id) {
    var element = document.getElementById(id), file = element.dataset.file, text = element.textContent;
    element.remove();
    if (!file) return unpack(text);
    return fetch(file).then(function (answer) {
      if (!answer.ok) throw new Error(file + ': ' + answer.status + ' ' + answer.statusText);
      beside[id] = answer.clone().arrayBuffer();
      return unzip(answer.body);
    });
  }
  function unzip(stream) {
    if (typeof DecompressionStream === 'undefined') throw new Error(words.too_old);
    return stream.pipeThrough(new DecompressionStream('gzip'));
  }
  function unpack(text) {
    return Promise.resolve().then(function () {
      var raw = atob(text.trim()), bytes = new Uint8Array(raw.length);
      for (var i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
      return unzip(new Blob([bytes]).stream());
    });
  }
  function bytes_of(stream) { return new Response(stream).arrayBuffer(); }
  // What is exported opens from a disk: it has in it what lies beside this page.
  var beside = {};
  function write_template() {
    var files = Object.keys(beside);
    if (files.length) template = template.replace(" connect-src 'self';", '');
    return Promise.all(files.map(function (id) {
      return beside[id].then(function (buffer) {
        var bytes = new Uint8Array(buffer), raw = '';
        for (var i = 0; i < bytes.length; i += 0x8000) raw += String.fromCharCode.apply(null, bytes.subarray(i, i + 0x8000));
        template = template.replace(new RegExp('id="' + id + '" data-file="[^"]*">'), function () { return 'id="' + id + '">' + btoa(raw); });
      });
    })).then(function () {
      FS.writeFile('/meshscope.html', new TextEncoder().encode(template));
      template = beside = null;
    });
  }

  // #lesson=hsdp&step=3&lang=zh: the command line's options by their names.
  function options_of(given) {
    var options = [];
    ['step', 'lang', 'view', 'form', 'rank', 'at', 'clock', 'theme', 'scale'].forEach(function (name) {
      if (given.get(name)) options.push('--' + name, given.get(name));
    });
    if (given.has('reduced-motion') || matchMedia('(prefers-reduced-motion: reduce)').matches) options.push('--reduced-motion');
    if (given.has('state')) options.push('--dump-state', '/state.json');  // for tests; a link names no file
    var lesson = given.get('lesson');
    if (lesson && lesson[0] !== '-') options.push(lesson);
    else if (record) options.push(record.path);
    return options;
  }

  // The files of settings are the browser's own storage, where it has one.
  function storage() {
    try {
      return window.localStorage;
    } catch (error) {
      return null;  // forbidden here
    }
  }
  var kept = {};
  function read_kept() {
    var store = storage();
    FS.createPath('/', kHome.slice(1) + '/.config/meshscope', true, true);
    if (!store) return;
    for (var i = 0; i < store.length; ++i) {
      var key = store.key(i);
      if (key.indexOf(kKept + kHome) !== 0) continue;
      var path = key.slice(kKept.length);
      FS.createPath('/', path.slice(1, path.lastIndexOf('/')), true, true);
      FS.writeFile(path, kept[path] = store.getItem(key));
    }
  }
  function files_below(folder, found) {
    FS.readdir(folder).forEach(function (name) {
      if (name === '.' || name === '..') return;
      var path = folder + '/' + name;
      if (FS.isDir(FS.stat(path).mode)) files_below(path, found);
      else found.push(path);
    });
    return found;
  }
  function write_kept() {
    var store = storage();
    if (!store) return;
    var now = {};
    files_below(kHome + '/.config', []).forEach(function (path) {
      now[path] = FS.readFile(path, { encoding: 'utf8' });
    });
    Object.keys(kept).forEach(function (path) {
      if (!(path in now)) store.removeItem(kKept + path);
    });
    Object.keys(now).forEach(function (path) {
      if (kept[path] === now[path]) return;
      try {
        store.setItem(kKept + path, now[path]);
      } catch (error) {
        delete now[path];  // full: tried again
      }
    });
    kept = now;
  }
  setInterval(function () { if (module.running) write_kept(); }, 2000);
  window.addEventListener('pagehide', function () {
    if (!module.running) return;
    module._meshscope_end();
    write_kept();
  });
  window.addEventListener('hashchange', function () { location.reload(); });
  // Keys that are the window's while it has the keyboard (app/gui/session/commands.cpp, docs/window.md); all others stay the
  // browser's, and so do F5, Ctrl+W and Ctrl+L, which mean something to everybody there.
  var taken = /^(F1|F2|Arrow.*|Page.*|Home|End|Tab|Backspace)$/, taken_with_control = /^(k|e|o|z|Enter|Arrow.*|[-+=01])$/i, taken_with_both = /^[cpl]$/i;
  window.addEventListener('keydown', function (event) {
    if (!keyboard.has_keyboard() && document.activeElement !== document.body) return;
    var control = event.ctrlKey || event.metaKey;
    if (control ? taken_with_control.test(event.key) || (event.shiftKey && taken_with_both.test(event.key)) : taken.test(event.key)) event.preventDefault();
  }, true);
  // ImGui asks in each frame for the state that it sets back after drawing, and each question waits for all drawing to be done.
  // Nobody else draws here, so what it is set back to is what a new context has.
  var context_of = canvas.getContext;
  canvas.getContext = function (kind, attributes) {
    var gl = context_of.call(canvas, kind, attributes);
    if (!gl || gl.asks) return gl;
    gl.asks = gl.getParameter;
    var known = new Map([[gl.ACTIVE_TEXTURE, gl.TEXTURE0], [gl.CURRENT_PROGRAM, null], [gl.TEXTURE_BINDING_2D, null], [gl.SAMPLER_BINDING, null],
      [gl.ARRAY_BUFFER_BINDING, null], [gl.VERTEX_ARRAY_BINDING, null], [gl.BLEND_SRC_RGB, gl.ONE], [gl.BLEND_DST_RGB, gl.ZERO],
      [gl.BLEND_SRC_ALPHA, gl.ONE], [gl.BLEND_DST_ALPHA, gl.ZERO], [gl.BLEND_EQUATION_RGB, gl.FUNC_ADD], [gl.BLEND_EQUATION_ALPHA, gl.FUNC_ADD]]);
    gl.getParameter = function (name) {
      if (name === gl.VIEWPORT || name === gl.SCISSOR_BOX) return new Int32Array([0, 0, canvas.width, canvas.height]);
      return known.has(name) ? known.get(name) : gl.asks(name);
    };
    return gl;
  };
  var keyboard = typing(canvas, {
    wants_text: function () { return module.running && module._meshscope_wants_text(); },
    caret: function () {
      var ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
      return [box.left + module._meshscope_caret_x() / ratio, box.top + module._meshscope_caret_y() / ratio];
    }
  });
  var zoom_a_notch = 1.25;  // app/gui/panels/views/timeline.cpp
  touch(canvas, {
    // In a course page the first finger is the page's, until a tap has given the canvas the keyboard.
    takes: function () { return module.running && (!embedded || keyboard.has_keyboard()); },
    over_field: function () { return module._meshscope_over_field(); },
    type: keyboard.open,
    scrolls: function () { return module._meshscope_scrolls(); },
    drags: function () { return module._meshscope_drags(); },
    scroll: function (pixels) { module._meshscope_scroll(pixels); },
    zoom: function (factor) { if (!module._meshscope_scrolls()) module._meshscope_turn(Math.log(factor) / Math.log(zoom_a_notch)); }
  });
  // Emscripten's GLFW tells the wheel the other way round, and a notch as a hundred; so it does not hear of it. (What goes to the
  // page around an embedded one was stopped above.)
  var notch = 100, lines_a_notch = 3, notches_a_page = 8;
  canvas.addEventListener('mousewheel', function (event) { event.stopImmediatePropagation(); }, true);
  canvas.addEventListener('wheel', function (event) {
    event.stopImmediatePropagation();
    event.preventDefault();
    if (!module.running) return;
    // With Shift browsers tell of it as sideways. By pixels, lines or pages.
    var down = (event.deltaY || event.deltaX) * [1, notch / lines_a_notch, notch * notches_a_page][event.deltaMode];
    canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: event.clientX, clientY: event.clientY, bubbles: true }));
    if (module._meshscope_scrolls()) module._meshscope_scroll(-down);
    else module._meshscope_turn(-down / notch);
  }, { capture: true, passive: false });
  canvas.addEventListener('contextmenu', function (event) { event.preventDefault(); });
  canvas.addEventListener('webglcontextlost', function () { tell(words.lost); });

  // Lessons and fonts: a list of paths and sizes, then all of their bytes.
  function write_files(buffer) {
    var view = new DataView(buffer), length = view.getUint32(0, true), at = 4 + length;
    JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))).forEach(function (file) {
      FS.createPath('/', file[0].slice(1, file[0].lastIndexOf('/')), true, true);
      FS.writeFile(file[0], new Uint8Array(buffer, at, file[1]));
      at += file[1];
    });
  }

  var program = null;
  var module = {
    canvas: canvas,
    arguments: options_of(asked),
    running: false,
    marks: { began: began },
    print: function (text) { console.log(text); },
    printErr: function (text) { console.warn(text); },
    instantiateWasm: function (imports, done) {
      program.then(function (stream) { return WebAssembly.instantiateStreaming(new Response(stream, { headers: { 'Content-Type': 'application/wasm' } }), imports); })
        .then(function (made) { done(made.instance, made.module); }, function (error) { tell(String(error.message || error)); });
      return {};
    },
    preRun: [function () {
      ENV.LANG = chinese ? 'zh_CN.UTF-8' : 'en_US.UTF-8';
      ENV.HOME = kHome;
      try {
        read_kept();
      } catch (error) {
        console.warn(String(error));  // what is kept is damaged: begin anew
      }
      addRunDependency('files');
      part('files').then(bytes_of).then(function (buffer) {
        write_files(buffer);
        return record ? unpack(record.text).then(bytes_of) : null;
      }).then(function (buffer) {
        if (buffer) {
          FS.mkdir('/records');
          FS.writeFile(record.path, new Uint8Array(buffer));
          record.text = null;
        }
        removeRunDependency('files');
        return program.then(write_template);
      }).catch(function (error) { tell(String(error.message || error)); });
    }],
    onAbort: function (what) { tell(String(what)); },

    // Called by the program.
    fitCanvas: function () {
      var ratio = window.devicePixelRatio || 1;
      var width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
      if (canvas.width !== width || canvas.height !== height) module.setCanvasSize(width, height);
    },
    drew: function () {
      ++module.marks.frames;
      keyboard.follow();
      if (module.running) return;
      module.running = true;
      module.marks.frames = 1;
      module.marks.first = performance.now();
      tell('');
      if (!embedded) canvas.focus();
    },
    failed: function (text) { tell(text); },
    copyText: function (text) {
      // Over plain http there is no clipboard to ask, and a browser may refuse: the older way is tried then.
      var old_way = function () {
        var area = document.createElement('textarea');
        area.value = text;
        document.body.appendChild(area);
        area.select();
        document.execCommand('copy');
        area.remove();
        canvas.focus();
      };
      if (navigator.clipboard) navigator.clipboard.writeText(text).catch(old_way);
      else old_way();
    },
    // A paragraph a line, and those that stay are left alone: a screen reader reads what is new.
    told: function (text) {
      var told = document.getElementById('told'), lines = text.split('\n').filter(Boolean), same = 0, after = 0;
      var old = Array.from(told.children), words = old.map(function (line) { return line.textContent; });
      while (same < Math.min(old.length, lines.length) && words[same] === lines[same]) ++same;
      while (after < Math.min(old.length, lines.length) - same && words[old.length - 1 - after] === lines[lines.length - 1 - after]) ++after;
      old.slice(same, old.length - after).forEach(function (line) { line.remove(); });
      var next = told.children[same] || null;
      lines.slice(same, lines.length - after).forEach(function (line) {
        told.insertBefore(document.createElement('p'), next).textContent = line;
      });
    },
    pasted: keyboard.pasted,
    // As if they were dropped.
    pickFiles: function () {
      var chooser = document.createElement('input');
      chooser.type = 'file';
      chooser.multiple = true;
      chooser.hidden = true;
      document.body.appendChild(chooser);  // a browser may forget one that is nowhere
      chooser.addEventListener('cancel', function () { chooser.remove(); });
      chooser.onchange = function () {
        chooser.remove();
        var chosen = new DataTransfer();
        Array.from(chooser.files).forEach(function (file) { chosen.items.add(file); });
        canvas.dispatchEvent(new DragEvent('drop', { dataTransfer: chosen, bubbles: true, cancelable: true }));
        canvas.focus();
      };
      chooser.click();
    },
    linkTo: link_to,
    download: function (path) {
      var link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([FS.readFile(path)]));
      link.download = path.slice(path.lastIndexOf('/') + 1);
      link.click();
      // It is the visitor's now, and a second one of its name is not asked about; lessons stay to be opened again.
      if (FS.lookupPath(path).path.indexOf('/scenarios/') !== 0) FS.unlink(path);
      setTimeout(function () { URL.revokeObjectURL(link.href); }, 60000);
    }
  };
  var gl = document.createElement('canvas').getContext('webgl2');
  if (!gl) {
    tell(words.no_graphics);
    return module;
  }
  program = part('program');
  program.catch(function (error) { tell(String(error.message || error)); });
  // The glue of emscripten, last: it begins at once.
  setTimeout(function () {
    var glue = document.createElement('script');
    glue.textContent = document.getElementById('glue').textContent;
    document.body.appendChild(glue);
  });
  return module;
})();
