// Searches the index that stands in a script beside it. Words of Latin letters are found where they begin a word,
// Chinese by pairs of characters, so that a sentence need not stand there as it was typed.
(function (root) {
  'use strict';

  var CHINESE = /[\u3400-\u9fff]+/g, PLACES = [['heading', 2, 6], ['title', 1, 4], ['text', 3, 1]], MOST = 40;

  // reduce_scatter and reduce-scatter are one word.
  function folded(text) { return text.toLowerCase().replace(/-/g, '_'); }

  // {text, chinese}: what each of a query's parts asks for.
  function terms(query) {
    var found = [];
    (query.match(CHINESE) || []).forEach(function (run) {
      if (run.length === 1) found.push({ text: run, chinese: true });
      for (var at = 0; at + 1 < run.length; at++) found.push({ text: run.substr(at, 2), chinese: true });
    });
    (folded(query).replace(CHINESE, ' ').match(/[a-z0-9_.+]+/g) || []).forEach(function (word) {
      word = word.replace(/[_.]+$/, '');
      if (/[a-z0-9]/.test(word)) found.push({ text: word, chinese: false });
    });
    return found;
  }

  function letter(text, at) { return at >= 0 && /[a-z0-9]/.test(text[at] || ''); }
  function find(text, term, from) {
    for (var at = text.indexOf(term.text, from); at >= 0; at = text.indexOf(term.text, at + 1)) {
      if (term.chinese || !letter(text, at - 1)) return at;
    }
    return -1;
  }

  // How well a record fits; 0: a word is missing, or more than a third of the pairs of Chinese characters.
  function score(record, wanted, whole) {
    var sum = 0, pairs = 0, missing = 0;
    for (var i = 0; i < wanted.length; i++) {
      var best = 0;
      PLACES.forEach(function (place) {
        var text = record.low[place[1]], at = find(text, wanted[i], 0);
        if (at < 0) return;
        var ends = wanted[i].chinese || !letter(text, at + wanted[i].text.length);
        best = Math.max(best, place[2] * (ends ? 1 : 0.6));
      });
      if (best === 0 && !wanted[i].chinese) return 0;
      pairs += wanted[i].chinese;
      missing += best === 0;
      sum += best;
    }
    if (missing * 3 > pairs) return 0;
    sum *= 1 - missing / (pairs + 1);
    // What stands there just as it was typed comes first.
    for (var place = 1; place < 4; place++) if (record.low[place].indexOf(whole) >= 0) sum += place === 3 ? 2 : 5;
    return sum + (record.row[4] === 'term' ? 1 : 0);
  }

  function search(index, query) {
    var wanted = terms(query), whole = folded(query.trim());
    if (wanted.length === 0) return [];
    if (!index.prepared) {
      index.prepared = index.map(function (row) {
        return { row: row, low: row.map(folded) };
      });
    }
    return index.prepared.map(function (record, at) { return { row: record.row, score: score(record, wanted, whole), at: at }; })
      .filter(function (found) { return found.score > 0; })
      .sort(function (a, b) { return b.score - a.score || a.at - b.at; });
  }

  // The part of a text round the first term, in pieces: [words, whether they were asked for].
  function snippet(text, query) {
    var low = folded(text), wanted = terms(query);
    var places = wanted.map(function (term) { return find(low, term, 0); }).filter(function (at) { return at >= 0; });
    var begin = places.length ? Math.max(0, Math.min.apply(null, places) - 50) : 0, end = Math.min(text.length, begin + 180);
    // Not in the middle of a word.
    while (begin > 0 && begin < end && letter(low, begin - 1) && letter(low, begin)) begin--;
    // Pairs of Chinese characters overlap, so what was asked for is marked letter by letter.
    var asked = [];
    wanted.forEach(function (term) {
      for (var place = find(low, term, begin); place >= 0 && place < end; place = find(low, term, place + 1)) {
        for (var each = 0; each < term.text.length; each++) asked[place + each] = true;
      }
    });
    var pieces = [[begin > 0 ? '… ' : '', false]];
    for (var at = begin, from = begin; at < end; at++) {
      if (at + 1 < end && !asked[at + 1] === !asked[at]) continue;
      pieces.push([text.slice(from, at + 1), !!asked[at]]);
      from = at + 1;
    }
    pieces.push([end < text.length ? ' …' : '', false]);
    return pieces;
  }

  if (typeof module !== 'undefined') {
    module.exports = { search: search, snippet: snippet, terms: terms };
    return;
  }

  var field = document.getElementById('query'), list = document.getElementById('results'), told = document.getElementById('found');
  var words = document.querySelector('.search').dataset;
  function marked(element, pieces) {
    pieces.forEach(function (piece) {
      var part = piece[1] ? document.createElement('mark') : document.createTextNode('');
      part.textContent = piece[0];
      element.append(part);
    });
  }
  function show() {
    var query = field.value.trim(), found = search(root.meshscopeIndex, query);
    list.textContent = '';
    var sentence = found.length === 0 ? words.searchNone : found.length > MOST ? words.searchMore : words.searchFound;
    var fields = { '{query}': query, '{count}': found.length, '{shown}': MOST };
    told.textContent = query === '' ? '' : sentence.replace(/\{\w+\}/g, function (field) { return fields[field]; });
    found.slice(0, MOST).forEach(function (each) {
      var item = document.createElement('li'), link = document.createElement('a'), text = document.createElement('p');
      link.href = each.row[0];
      link.textContent = each.row[1] + (each.row[2] && each.row[2] !== each.row[1] ? ' · ' + each.row[2] : '');
      marked(text, snippet(each.row[3], query));
      item.append(link, text);
      list.append(item);
    });
    try { history.replaceState(null, '', query ? '#q=' + encodeURIComponent(query) : location.pathname); } catch (error) { /* from the disk */ }
  }
  var asked = /[#&]q=([^&]*)/.exec(location.hash);
  if (asked) {
    try { field.value = decodeURIComponent(asked[1]); } catch (error) { field.value = asked[1]; /* "100%", typed by hand */ }
  }
  field.form.addEventListener('submit', function (event) { event.preventDefault(); show(); });
  field.addEventListener('input', show);
  show();
  field.focus();
}(this));
