// Opens an exported page without a browser: a small stand-in for the document, the page's own script, and what a
// reader does with it. Usage: node page_check.js PAGE.html. Prints what is wrong and ends with 1.
"use strict";
const fs = require("fs");
const vm = require("vm");

const page = fs.readFileSync(process.argv[2], "utf8");
const scripts = [...page.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)];
const fail = what => { console.log(what); process.exitCode = 1; };
if (scripts.length !== 2) fail("scripts: " + scripts.length);

let calls = 0, texts = [];
const context2d = new Proxy({}, { get: (_, name) => name === "measureText" ? s => ({ width: 7 * s.length })
  : name === "fillText" ? s => { texts.push(s); } : name === "fillRect" ? () => { ++calls; } : () => {}, set: () => true });
const elements = {};
function element(id) {
  return elements[id] ||= { id, style: {}, dataset: {}, attributes: {}, clientWidth: 1000, textContent: "", innerHTML: "",
    setAttribute(k, v) { this.attributes[k] = v; }, addEventListener(k, f) { this["on" + k] = f; }, getContext: () => context2d,
    setPointerCapture() {} };
}
element("run").textContent = scripts[0][2];
const root = element("html");
const listeners = {};
const frames = [];
const world = { document: { getElementById: element, documentElement: root, title: "" }, console,
  getComputedStyle: () => ({ getPropertyValue: () => " #123456" }), requestAnimationFrame: f => frames.push(f) };
world.window = { devicePixelRatio: 1, addEventListener: (k, f) => { listeners[k] = f; } };
vm.createContext(world);
vm.runInContext(scripts[1][2], world);

const run = JSON.parse(scripts[0][2]);
const cells = () => (elements.mesh.innerHTML.match(/data-rank=/g) || []).length;
const ranks = run.mesh.ranks.length || run.events.length;
if (cells() !== ranks) fail("ranks on the mesh: " + cells() + " of " + ranks);
if (calls < 10) fail("rectangles on the timeline: " + calls);
if (!texts.some(t => t.startsWith("0 "))) fail("no lane of rank 0");

// Scrubbing changes what the ranks do.
const seen = new Set();
for (let i = 0; i <= 20; ++i) { elements.time.oninput({ target: { value: String(50 * i) } }); seen.add(elements.mesh.innerHTML); }
if (seen.size < 5) fail("scrubbing shows only " + seen.size + " different meshes");

// Stepping over the events of rank 0 shows each event's name and reason.
const press = key => listeners.keydown({ key, target: { tagName: "BODY" }, preventDefault() {} });
press("Home");
const named = new Set();
let reasons = 0;
for (let i = 0; i < 40; ++i) {
  press("ArrowRight");
  const name = /class="op">([^<]*)</.exec(elements.event.innerHTML);
  if (name) named.add(name[1]);
  if (elements.event.innerHTML.includes("<pre>")) ++reasons;
}
if (named.size < 3) fail("events named: " + [...named]);
if (reasons < 1) fail("no event tells its reason");

// Both languages, both clocks, another rank, playing to the end.
const before = elements.play.textContent;
press("l");
if (elements.play.textContent === before) fail("the language does not change");
press("c");
if (!elements.clock.textContent) fail("no clock");
const cell = { dataset: { rank: "1" } };
elements.mesh.onclick({ target: { closest: () => cell } });
elements.lanes.onwheel({ preventDefault() {}, deltaY: -1, offsetX: 500, shiftKey: false });
elements.lanes.onpointerdown({ offsetX: 400, pointerId: 1 });
elements.lanes.onpointerup({ offsetX: 400, offsetY: 40, pointerId: 1 });
press("Home");
press(" ");
for (let i = 0, t = 0; frames.length && i < 2000; ++i) frames.shift()(t += 100);
if (Number(elements.time.value) < 999) fail("playing ends at " + elements.time.value);
if (!process.exitCode) console.log("fine");
