// What app/web/touch.js makes of fingers, without a browser: which mouse events and calls come of them. Prints "fine", or what
// is wrong, and ends with 1 then. Usage: node touch_test.js touch.js
'use strict';
const fs = require('fs'), vm = require('vm');
let said = [], handlers = {}, timers = [], frames = [], scrolls = false, takes = true, drags = false, field = false;
const canvas = { focus() {}, dispatchEvent(event) { said.push(`${event.type} ${event.clientX},${event.clientY}`); } };
const world = { Math, window: { addEventListener(kind, act) { handlers[kind] = act; } }, MouseEvent: function (type, how) { Object.assign(this, how, { type }); },
  setTimeout: act => timers.push(act), clearTimeout: () => { timers = []; }, requestAnimationFrame: act => frames.push(act) };
vm.createContext(world);
vm.runInContext(fs.readFileSync(process.argv[2], 'utf8'), world);
world.touch(canvas, { takes: () => takes, scrolls: () => scrolls, drags: () => drags, over_field: () => field, type: at => said.push(`keyboard ${at.x},${at.y}`), scroll: pixels => said.push(`scroll ${pixels}`), zoom: factor => said.push(`zoom ${factor.toFixed(2)}`) });

let prevented = 0, stopped = 0;
function send(kind, ...fingers) {
  handlers[kind]({ target: canvas, touches: fingers.map(([x, y]) => ({ clientX: x, clientY: y })), preventDefault() { ++prevented; }, stopImmediatePropagation() { ++stopped; } });
}
function expect(what, wanted) {
  while (frames.length) frames.shift()();
  if (said.join('; ') !== wanted) { console.log(`${what}: ${said.join('; ')}, not ${wanted}`); process.exitCode = 1; }
  said = [];
}

send('touchstart', [10, 20]);
send('touchmove', [12, 20]);
send('touchend');
expect('a tap', 'mousemove 10,20; mousedown 10,20; mouseup 10,20');

field = true;
send('touchstart', [10, 20]);
send('touchend');
expect('a tap on a field', 'mousemove 10,20; mousedown 10,20; keyboard 10,20; mouseup 10,20');
field = false;

send('touchstart', [10, 20]);
send('touchmove', [30, 20]);
send('touchmove', [40, 25]);
send('touchend');
expect('a drag', 'mousemove 10,20; mousedown 10,20; mousemove 30,20; mousemove 40,25; mouseup 40,25');

scrolls = true;
send('touchstart', [10, 20]);
send('touchmove', [10, 40]);
send('touchmove', [10, 35]);
send('touchend');
expect('a drag over text', 'mousemove 10,20; mousemove 10,20; scroll 20; mousemove 10,20; scroll -5');
send('touchstart', [10, 20], [30, 20]);
send('touchmove', [10, 40], [30, 40]);
send('touchend', [30, 40]);
send('touchmove', [30, 90]);
send('touchend');
expect('two fingers over text', 'mousemove 20,20; mousemove 20,20; scroll 20');
scrolls = false;

send('touchstart', [10, 20]);
timers.splice(0).forEach(act => act());
send('touchmove', [30, 20]);
send('touchend');
expect('a rest', 'mousemove 10,20; mousemove 30,20; mousemove -10000,-10000');

send('touchstart', [100, 100]);
send('touchstart', [100, 100], [200, 100]);
send('touchmove', [80, 100], [220, 100]);
send('touchmove', [80, 100], [360, 100]);
send('touchend', [80, 100]);
send('touchend');
expect('a pinch', 'mousemove 100,100; mousemove 150,100; mousemove 150,100; zoom 1.40; mousemove 220,100; zoom 2.00');

send('touchstart', [100, 100], [200, 100]);
send('touchmove', [100, 130], [200, 130]);
send('touchend');
expect('two fingers moved', 'mousemove 150,100; mousedown 150,100; mousemove 150,130; mouseup 150,130');

send('touchstart', [10, 20]);
send('touchmove', [30, 20]);
send('touchcancel');
expect('a drag that the browser takes away', 'mousemove 10,20; mousedown 10,20; mousemove 30,20; mouseup 30,20');

// A block of a grid that scrolls.
function drawn() { for (let i = 0; i < 2; ++i) frames.splice(0).forEach(act => act()); }
scrolls = drags = true;
send('touchstart', [10, 20]);
send('touchmove', [20, 22]);
drawn();
send('touchmove', [60, 25]);
send('touchend');
expect('a block taken aside', 'mousemove 10,20; mousedown 10,20; mousemove 20,22; mousemove 60,25; mouseup 60,25');
send('touchstart', [10, 20]);
send('touchmove', [12, 40]);
send('touchend');
expect('a finger that scrolls past a block', 'mousemove 10,20; mousemove 10,20; scroll 20');
send('touchstart', [10, 20]);
timers.splice(0).forEach(act => act());
drawn();
send('touchmove', [10, 50]);
send('touchmove', [40, 50]);
send('touchend');
expect('a block taken up by a rest', 'mousemove 10,20; mousedown 10,20; mousemove 10,20; mousemove 10,50; mousemove 40,50; mouseup 40,50');
send('touchstart', [10, 20]);
send('touchmove', [30, 20]);
send('touchend');
expect('a block let go before it was seen to move', 'mousemove 10,20; mousedown 10,20; mouseup 10,20');
scrolls = drags = false;

takes = false;
const before = prevented, all = stopped;
send('touchstart', [10, 20]);
send('touchend');
expect('a page around it', '');
if (prevented !== before || stopped !== all + 2) { console.log('the page around it does not get its fingers'); process.exitCode = 1; }
if (!process.exitCode) console.log('fine');
