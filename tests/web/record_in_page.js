// What the page's own script makes of a record that an export put into it, without a browser and without the program: a small
// stand-in for the document and for emscripten's files. Usage: node record_in_page.js PAGE.html PAGE.js RECORD.mscope [LINK].
// Prints the program's arguments as JSON, then "fine", or what is wrong; ends with 1 then.
'use strict';
const fs = require('fs'), vm = require('vm');
const [, , file, script, record, link] = process.argv;
const page = fs.readFileSync(file, 'utf8');
const tag = /<script type="text\/plain" id="record"([^>]*)>([^<]*)<\/script>/.exec(page);
const attribute = name => { const found = new RegExp(`${name}="([^"]*)"`).exec(tag[1]); return found ? found[1].replace(/&amp;/g, '&') : undefined; };
const zipped = text => require('zlib').gzipSync(text).toString('base64');
const nothing = () => {};

function element(id, text) {
  return { id, textContent: text, dataset: {}, style: {}, hidden: false, addEventListener: nothing, remove: nothing, appendChild: nothing, querySelector: () => element('a'),
    setAttribute: nothing, removeAttribute(name) { delete this.dataset[name.replace('data-', '')]; },
    getContext: () => ({ getParameter: nothing }) };
}
const files = Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.from('[]')]);
const elements = { record: element('record', tag[2]), files: element('files', zipped(files)), program: element('program', zipped('wasm')), glue: element('glue', '') };
elements.record.dataset = { name: attribute('data-name'), place: attribute('data-place') };
const root = { lang: 'en', get outerHTML() { return `<html>${elements.record.textContent}|${JSON.stringify(elements.record.dataset)}</html>`; } };
const written = {};
const FS = { createPath: nothing, mkdir: nothing, readdir: () => [], writeFile(path, bytes) { written[path] = Buffer.from(bytes); } };
const location = { hash: link || '', href: 'file:///a.html' + (link || ''), reload: nothing };
const document = { documentElement: root, body: element('body'), getElementById: id => elements[id] || (elements[id] = element(id, '')),
  createElement: element, addEventListener: nothing, get activeElement() { return null; } };
const world = { document, location, navigator: { language: 'en' }, window: { addEventListener: nothing, localStorage: null }, matchMedia: () => ({ matches: false }),
  addEventListener: nothing, setInterval: nothing, setTimeout: nothing, performance, console, URL, URLSearchParams, TextEncoder, TextDecoder, Blob, Response, DecompressionStream, atob,
  Uint8Array, DataView, WebAssembly, FS, ENV: {}, addRunDependency: nothing };
vm.createContext(world);

const fail = what => { console.log(what); process.exitCode = 1; };
world.removeRunDependency = () => {
  const module = world.Module, path = module.arguments.find(word => word.startsWith('/records/'));
  console.log(JSON.stringify(module.arguments));
  if (path && !(written[path] || Buffer.alloc(0)).equals(fs.readFileSync(record))) fail('the record is another');
  if (!path && Object.keys(written).some(name => name.startsWith('/records/'))) fail('a record was written');
  if (module.linkTo(['lesson', path || 'ring', 'view', 'mesh']) !== 'file:///a.html#' + (path ? '' : 'lesson=ring&') + 'view=mesh') fail('a link: ' + module.linkTo(['lesson', path, 'view', 'mesh']));
  setImmediate(function look() {
    if (!written['/meshscope.html']) return setImmediate(look);
    // What exports are made of holds no record.
    const source = written['/meshscope.html'].toString();
    if (source !== '<!DOCTYPE html>\n<html>|{}</html>\n') fail('the template: ' + source.slice(0, 100));
    if (!process.exitCode) console.log('fine');
  });
};
world.typing = () => ({ has_keyboard: () => true, follow: nothing, open: nothing });
for (const each of [require('path').join(require('path').dirname(script), 'touch.js'), script]) vm.runInContext(fs.readFileSync(each, 'utf8'), world);
world.Module.preRun[0]();
