// SPDX-License-Identifier: Apache-2.0
// What cannot be read on a page: texts that run into each other, leave what holds them, or lie outside of the window;
// boxes of a drawing that cover each other. A list of sentences, the first ten.
(() => {
  const out = [], tell = (what, s) => out.push(what + ": " + s.trim().slice(0, 80));
  const scrolls = e => { const s = getComputedStyle(e); return /auto|scroll|hidden/.test(s.overflowX + s.overflowY); };
  // A rectangle without what the boxes around it do not show.
  const shown = (r, e) => {
    let x = { left: r.left, right: r.right, top: r.top, bottom: r.bottom };
    for (; e; e = e.parentElement) {
      if (e === document.body || e === document.documentElement || !scrolls(e)) { continue; }
      const b = e.getBoundingClientRect();
      x = { left: Math.max(x.left, b.left), right: Math.min(x.right, b.right), top: Math.max(x.top, b.top),
        bottom: Math.min(x.bottom, b.bottom) };
    }
    return x.right - x.left > 1 && x.bottom - x.top > 1 ? x : null;
  };
  const free = e => { for (; e; e = e.parentElement) { if (scrolls(e)) { return false; } } return true; };
  const overlap = (a, b, by) => a.left + by < b.right && b.left + by < a.right && a.top + by < b.bottom &&
    b.top + by < a.bottom;

  for (const e of document.body.querySelectorAll("*")) {
    if (!e.checkVisibility()) { continue; }
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > innerWidth + 1 || r.left < -1) && free(e.parentElement) && !scrolls(e)) {
      tell("wider than the window", e.tagName + " " + e.id + " " + e.textContent);
    }
  }

  // Texts, line by line, with what holds them.
  const lines = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let t = walker.nextNode(); t; t = walker.nextNode()) {
    const e = t.parentElement;
    if (!t.data.trim() || e.closest("script, style, title") || !e.checkVisibility({ visibilityProperty: true })) {
      continue;
    }
    const range = document.createRange();
    range.selectNodeContents(t);
    if (/^[\d,.]+\s*$/.test(t.data) && range.getClientRects().length > 1) { tell("a number is on two lines", t.data); }
    for (const r of range.getClientRects()) {
      const x = r.width > 0 && shown(r, e);
      if (x) { lines.push({ x, t, e }); }
      const holder = e.closest("td, th, .card, figure, li, p, h1, h2, h3, .space, .strip .name");
      if (x && holder) {
        const b = holder.getBoundingClientRect();
        if (r.right > b.right + 1 || r.left < b.left - 1) { tell("a text leaves its " + holder.tagName, t.data); }
      }
    }
  }
  lines.sort((a, b) => a.x.top - b.x.top);
  lines.forEach((a, i) => {
    for (let k = i + 1; k < lines.length && lines[k].x.top < a.x.bottom; k++) {
      const b = lines[k];
      if (a.t !== b.t && overlap(a.x, b.x, 3)) { tell("texts overlap", a.t.data.trim() + " | " + b.t.data); }
    }
  });

  // The drawing: boxes, and texts in them; labels of buffers.
  const boxes = [...document.querySelectorAll("a.box")].map(b => ({ b, r: b.querySelector("rect")
    .getBoundingClientRect() })).sort((a, b) => a.r.top - b.r.top);
  boxes.forEach((a, i) => {
    for (const t of a.b.querySelectorAll("text")) {
      const x = t.getBoundingClientRect();
      if (x.left < a.r.left || x.right > a.r.right + 1 || x.bottom > a.r.bottom + 2 || x.top < a.r.top - 1) {
        tell("a text leaves the box " + a.b.id, t.textContent);
      }
    }
    for (let k = i + 1; k < boxes.length && boxes[k].r.top < a.r.bottom; k++) {
      if (overlap(a.r, boxes[k].r, 1)) { tell("boxes overlap", a.b.textContent + " | " + boxes[k].b.textContent); }
    }
  });
  for (const p of document.querySelectorAll(".plot")) {
    const rects = [...p.querySelectorAll("rect")].map(r => r.getBoundingClientRect()), edge = p.getBoundingClientRect();
    if (rects.some(r => r.right > edge.right + 1 || r.bottom > edge.bottom + 1)) { tell("cut", "buffers of the arena"); }
    for (const t of p.querySelectorAll("text:not(.step)")) {
      const a = t.getBoundingClientRect();
      if (!rects.some(b => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 2 &&
        a.bottom <= b.bottom + 2)) { tell("a label leaves its buffer", t.textContent); }
    }
  }
  return out.slice(0, 10);
})()
