// SPDX-License-Identifier: Apache-2.0 OR MIT-0
"use strict";
// The page works without this: here it learns to zoom, search, sort, and to show a node
// beside the drawing. Text from models is moved as text, never as markup.
(function () {
  var doc = document, byId = function (id) { return doc.getElementById(id); };
  var all = function (what, within) { return Array.prototype.slice.call((within || doc).querySelectorAll(what)); };
  doc.documentElement.classList.add("js");

  // The drawing: zoom by its size, move by scrolling.
  var drawing = byId("drawing"), view = byId("view"), map = byId("map"), panel = byId("panel");
  var boxes = drawing ? all("a.box", drawing) : [], wires = drawing ? all(".wires path", drawing) : [];
  doc.documentElement.classList.toggle("drawn", !!drawing);
  var size = drawing && drawing.viewBox.baseVal, scale = 1;

  var rows = all("#table tbody tr");

  function place(box) {
    var t = box.transform.baseVal.getItem(0).matrix, r = box.querySelector("rect").getBBox();
    return { x: t.e, y: t.f, w: r.width, h: r.height };
  }

  function zoom(to, x, y) {
    x = x === undefined ? view.clientWidth / 2 : x;
    y = y === undefined ? view.clientHeight / 2 : y;
    to = Math.min(Math.max(to, 0.02), 4);
    var left = Math.max((view.clientWidth - size.width * scale) / 2, 0);
    var px = (view.scrollLeft + x - left) / scale, py = (view.scrollTop + y) / scale;
    scale = to;
    drawing.setAttribute("width", size.width * to);
    drawing.setAttribute("height", size.height * to);
    left = Math.max((view.clientWidth - size.width * to) / 2, 0);
    view.scrollLeft = px * to + left - x;
    view.scrollTop = py * to - y;
    overview();
  }

  function fit() { zoom(Math.min(view.clientWidth / size.width, view.clientHeight / size.height, 1)); }

  // The overview to the right: all boxes, small, and what is in view.
  function overview() {
    var w = map.clientWidth, h = map.clientHeight, c = map.getContext("2d"), d = window.devicePixelRatio || 1;
    map.width = w * d;
    map.height = h * d;
    c.scale(d, d);
    var sx = w / size.width, sy = h / size.height, k = Math.min(sx, sy * 4);
    boxes.forEach(function (b) {
      var p = place(b), style = getComputedStyle(b);
      c.fillStyle = style.getPropertyValue("--k");
      c.globalAlpha = byId("drawing").classList.contains("seeking") && !b.classList.contains("hit") ? 0.2 : 0.9;
      c.fillRect((p.x - size.width / 2) * k + w / 2, p.y * sy, Math.max(p.w * k, 2), Math.max(p.h * sy, 1));
    });
    c.globalAlpha = 1;
    c.strokeStyle = getComputedStyle(doc.body).color;
    c.lineWidth = 1.5;
    c.strokeRect(1, view.scrollTop / scale * sy + 1, w - 2,
      Math.max(Math.min(view.clientHeight / scale * sy, h) - 2, 3));
  }

  function show(box) {
    var p = place(box), left = Math.max((view.clientWidth - size.width * scale) / 2, 0);
    view.scrollLeft = (p.x + p.w / 2) * scale + left - view.clientWidth / 2;
    view.scrollTop = (p.y + p.h / 2) * scale - view.clientHeight / 2;
  }

  // A node is chosen: its facts beside the drawing, its wires and its row in colour.
  function choose(id, follow) {
    var facts = byId(id), box = byId("g" + id);
    boxes.forEach(function (b) {
      b.classList.toggle("chosen", b === box);
      b.setAttribute("tabindex", b === box ? 0 : -1);
    });
    wires.forEach(function (w) {
      w.classList.toggle("lit", w.getAttribute("data-w").split(" ").indexOf(id) >= 0);
    });
    rows.forEach(function (r) {
      r.classList.toggle("chosen", r.querySelector("a").getAttribute("href") === "#" + id);
    });
    if (follow && box) { show(box); }
    if (!panel) { return; }
    panel.textContent = "";
    var head = panel.appendChild(doc.createElement("h3"));
    if (!facts) {
      head.textContent = box ? box.textContent : id;
      return;
    }
    head.textContent = facts.parentNode.querySelector("summary").textContent;
    var copy = facts.cloneNode(true);
    copy.removeAttribute("id");
    panel.appendChild(copy);
    all("li[data-t]", copy).forEach(function (li) {
      var made = doc.querySelector("#nodes li[data-g='" + li.getAttribute("data-t") + "'] span");
      if (made) { li.appendChild(made.cloneNode(true)); }
    });
    figures(id, copy.querySelector("dl"), facts.hasAttribute("data-alone"));
    ["values", "weights"].forEach(function (kind) {
      all("." + kind + " figcaption a[href='#" + id + "']").forEach(function (a) {
        panel.appendChild(a.closest("figure").cloneNode(true));
      });
      (more[kind] || []).forEach(function (row) {
        if ("n" + row[0] === id) { panel.appendChild(figure(row)); }
      });
    });
    panel.scrollTop = 0;
  }

  // What is packed: histograms beyond the first ones are data, of which elements are made when they are asked for;
  // nodes come from the page's own template.
  var more = {}, drawn = all(".plot rect");

  function unpack(then) {
    if (!byId("packed") || !window.DecompressionStream) { return then(); }
    var bytes = Uint8Array.from(atob(byId("packed").textContent), function (c) { return c.charCodeAt(0); });
    var plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    new Response(plain).json().then(function (read) {
      more = read;
      var nodes = new DOMParser().parseFromString(more.nodes, "text/html").body;
      byId("nodes").append.apply(byId("nodes"), Array.prototype.slice.call(nodes.childNodes));
      (more.buffers || []).forEach(function (title, i) {
        var made = doc.createElementNS(drawn[i].namespaceURI, "title");
        made.textContent = title;
        drawn[i].appendChild(made);
      });
    }).then(then);
  }

  function figure(row) {
    var f = doc.createElement("figure"), caption = doc.createElement("figcaption");
    var add = function (name, within, said, kind) {
      var e = within.appendChild(doc.createElement(name));
      if (kind) { e.className = kind; }
      e.textContent = said;
      return e;
    };
    if (row.length > 6) { bars(f, row.slice(6), add); }
    if (row[0] >= 0) { add("a", caption, row[1]).setAttribute("href", "#n" + row[0]); } else { caption.append(row[1]); }
    caption.append(" ");
    add("span", caption, row[2], "dim");
    caption.append(" ");
    if (row[3]) { add("b", caption, row[3], row[4] ? "bad" : ""); }
    add("span", caption, row[5], "dim facts");
    f.appendChild(caption);
    return f;
  }

  // The bars of a histogram: a digit for the height of each.
  function bars(f, x, add) {
    var make = function (name, attrs, within) {
      var e = within.appendChild(doc.createElementNS(doc.querySelector("svg").namespaceURI, name));
      Object.keys(attrs).forEach(function (k) { e.setAttribute(k, attrs[k]); });
      return e;
    };
    var digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", path = "M0 56";
    x[0].split("").forEach(function (c) { path += "V" + (56 - 56 * digits.indexOf(c) / 61).toFixed(0) + "h1"; });
    var svg = make("svg", { viewBox: x[1] + " 0 " + x[2] + " 56", preserveAspectRatio: "none", "aria-hidden": "true" },
      f);
    make("path", { d: path + "V56z" }, svg);
    make("path", { "class": "clip", d: "M" + x[3] + " 0v56M" + x[4] + " 0v56" }, svg);
    var ends = add("div", f, "", "ends dim");
    add("span", ends, x[5]);
    add("span", ends, x[6]);
  }

  all("[data-more]").forEach(function (d) {
    d.addEventListener("toggle", function () {
      var list = d.querySelector(".figures");
      if (list.firstChild) { return; }
      more[d.getAttribute("data-more")].forEach(function (row) { list.appendChild(figure(row)); });
    });
  });

  // What the row of a layer says, beside its only node.
  function figures(id, list, alone) {
    var row = rows.filter(function (r) { return r.querySelector("a").getAttribute("href") === "#" + id; })[0];
    if (!row || !alone) { return; }
    all("thead th", row.closest("table")).forEach(function (th, k) {
      var n = row.cells[k].textContent;
      if (k < 3 || !n || n === "0") { return; }
      list.appendChild(doc.createElement("dt")).textContent = th.textContent.split(" ")[0];
      list.appendChild(doc.createElement("dd")).textContent = n + th.textContent.replace(/^\S+/, "");
    });
  }

  function nodeOf(link) {
    var id = (link.getAttribute("href") || "").slice(1);
    return /^[nio]\d+$/.test(id) ? id : "";
  }

  if (drawing) {
    boxes.forEach(function (b, i) { b.setAttribute("tabindex", i ? -1 : 0); });
    all("[data-zoom]").forEach(function (b) {
      b.addEventListener("click", function () {
        var what = b.getAttribute("data-zoom");
        if (what === "fit") { fit(); } else { zoom(what === "one" ? 1 : scale * (what === "in" ? 1.25 : 0.8)); }
      });
    });
    view.addEventListener("wheel", function (e) {
      if (!e.ctrlKey && !e.metaKey) { return; }
      e.preventDefault();
      var r = view.getBoundingClientRect();
      zoom(scale * Math.exp(-e.deltaY / 300), e.clientX - r.left, e.clientY - r.top);
    }, { passive: false });
    var drag = null;
    view.addEventListener("pointerdown", function (e) {
      if (e.pointerType === "mouse" && e.button === 0) {
        drag = { x: e.clientX, y: e.clientY, left: view.scrollLeft, top: view.scrollTop, moved: false };
      }
    });
    window.addEventListener("pointermove", function (e) {
      if (!drag) { return; }
      var x = e.clientX - drag.x, y = e.clientY - drag.y;
      drag.moved = drag.moved || Math.abs(x) + Math.abs(y) > 5;
      if (drag.moved) {
        view.classList.add("dragged");
        view.scrollLeft = drag.left - x;
        view.scrollTop = drag.top - y;
      }
    });
    window.addEventListener("pointerup", function () {
      view.classList.remove("dragged");
      if (drag && drag.moved) { view.addEventListener("click", stop, true); }
      window.setTimeout(function () { view.removeEventListener("click", stop, true); }, 0);
      drag = null;
    });
    var stop = function (e) { e.preventDefault(); e.stopPropagation(); };
    view.addEventListener("dragstart", function (e) { e.preventDefault(); });
    view.addEventListener("scroll", function () { window.requestAnimationFrame(overview); });
    window.addEventListener("resize", overview);
    map.addEventListener("click", function (e) {
      var r = map.getBoundingClientRect();
      view.scrollTop = (e.clientY - r.top) / r.height * size.height * scale - view.clientHeight / 2;
    });
    drawing.addEventListener("keydown", function (e) {
      var step = { ArrowDown: 1, ArrowUp: -1 }[e.key], i = boxes.indexOf(doc.activeElement);
      if (!step || i < 0 || !boxes[i + step]) { return; }
      e.preventDefault();
      choose(nodeOf(boxes[i + step]), true);
      boxes[i + step].focus({ preventScroll: true });
    });
    seek();
    if (boxes[0]) { show(boxes[0]); }
    view.scrollTop = 0;
    overview();
  }

  doc.addEventListener("click", function (e) {
    var link = e.target.closest && e.target.closest("a[href^='#']"), id = link && nodeOf(link);
    if (!id || !(byId("g" + id) || byId(id)) || !panel) { return; }
    e.preventDefault();
    choose(id, !link.classList.contains("box"));
    if (!link.classList.contains("box")) { byId("graph").scrollIntoView(); }
  });

  // Search in the drawing: hits in colour, Enter goes to the next.
  function seek() {
    var find = byId("find"), found = byId("found"), hits = [], at = -1;
    find.addEventListener("input", function () {
      var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      hits = [];
      at = -1;
      boxes.forEach(function (b) {
        var facts = byId(nodeOf(b)), text = b.textContent;
        if (facts) {
          text += " " + facts.parentNode.querySelector("summary").textContent;
          all("dd", facts).forEach(function (x) { text += " " + x.textContent; });
        }
        text = text.toLowerCase();
        var hit = words.length > 0 && words.every(function (w) { return text.indexOf(w) >= 0; });
        b.classList.toggle("hit", hit);
        if (hit) { hits.push(b); }
      });
      drawing.classList.toggle("seeking", words.length > 0);
      found.textContent = words.length ? hits.length + " found" + (hits.length ? ", Enter shows the next" : "") : "";
      if (hits.length) { show(hits[0]); }
      overview();
    });
    find.addEventListener("keydown", function (e) {
      if (e.key !== "Enter" || !hits.length) { return; }
      at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
      choose(nodeOf(hits[at]), true);
      found.textContent = at + 1 + " of " + hits.length;
    });
  }

  // Tables: sorted by a column, searched by words.
  all("th[data-sort]").forEach(function (th) {
    var b = doc.createElement("button"), numbers = th.getAttribute("data-sort") === "n";
    b.type = "button";
    while (th.firstChild) { b.appendChild(th.firstChild); }
    th.appendChild(b);
    b.addEventListener("click", function () {
      var body = th.closest("table").tBodies[0], k = th.cellIndex;
      var down = th.getAttribute("aria-sort") ? th.getAttribute("aria-sort") !== "descending" : numbers && k > 0;
      var key = function (row) {
        var s = row.cells[k].textContent;
        return numbers ? parseFloat(s.replace(/[,%+]/g, "").replace("\u2212", "-")) : s.toLowerCase();
      };
      var rows = Array.prototype.slice.call(body.rows).map(function (r, i) { return { r: r, i: i, v: key(r) }; });
      rows.sort(function (a, b) {
        var none = function (x) { return x.v !== x.v; };
        if (none(a) || none(b)) { return none(a) - none(b) || a.i - b.i; }
        return (a.v < b.v ? -1 : a.v > b.v ? 1 : 0) * (down ? -1 : 1) || a.i - b.i;
      });
      rows.forEach(function (x) { body.appendChild(x.r); });
      all("th", th.parentNode).forEach(function (t) { t.removeAttribute("aria-sort"); });
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  });
  var filter = byId("filter");
  if (filter) {
    filter.addEventListener("input", function () {
      var words = filter.value.toLowerCase().split(/\s+/).filter(Boolean), left = 0;
      all("#table tbody tr").forEach(function (r) {
        var text = r.textContent.toLowerCase();
        r.hidden = !words.every(function (w) { return text.indexOf(w) >= 0; });
        left += r.hidden ? 0 : 1;
      });
      byId("rows").textContent = words.length ? left + " rows" : "";
    });
  }

  // Bars of layers: the one under the pointer is named, a click chooses it.
  var rowOf = {};
  all("#table tbody tr").forEach(function (r) { rowOf[r.cells[0].textContent] = r; });
  all(".bars").forEach(function (s) {
    var under = function (e) {
      var r = s.getBoundingClientRect(), n = +s.getAttribute("data-n");
      return rowOf[Math.min(Math.max(Math.floor((e.clientX - r.left) / r.width * n), 0), n - 1)];
    };
    s.addEventListener("pointermove", function (e) {
      var row = under(e), said = [];
      if (!row) { return; }
      all("thead th", row.closest("table")).forEach(function (th, k) {
        if (k > 2 && row.cells[k].textContent) { said.push(th.textContent + " " + row.cells[k].textContent); }
      });
      byId("pointed").textContent = "#" + row.cells[0].textContent + " " +
        row.cells[1].querySelector("a").textContent + ": " + said.join(", ");
    });
    s.addEventListener("click", function (e) {
      var row = under(e);
      if (row) { row.querySelector("a").click(); }
    });
  });

  // Buffers: what a rectangle is.
  drawn.forEach(function (r) {
    var say = function () { byId("buffer").textContent = (r.querySelector("title") || r).textContent; };
    r.addEventListener("pointerenter", function () {
      if (!doc.querySelector(".plot rect.chosen")) { say(); }
    });
    r.addEventListener("click", function () {
      var was = r.classList.contains("chosen");
      all(".plot rect.chosen").forEach(function (x) { x.classList.remove("chosen"); });
      if (!was) { r.classList.add("chosen"); }
      say();
    });
  });

  unpack(function () {
    doc.documentElement.classList.add("ready");
    if (/^#[nio]\d+$/.test(window.location.hash)) { choose(window.location.hash.slice(1), true); }
  });
})();
