// SPDX-License-Identifier: Apache-2.0
"use strict";

const $ = (id) => document.getElementById(id);

// What an exit status of nncc means (nncc help).
const statuses = {1: "A difference was found", 2: "Not compiled: the model, the data or a flag is not right",
  3: "A gate was exceeded", 4: "A tool is missing", 70: "A bug in nncc"};

const chosen = {model: [], calib: []};
let worker;
let ready = false;
let busy = null; // the command that runs: {resolve, texts, heard}
let commands = 0;

function start() {
  ready = false;
  worker = new Worker("worker.js");
  worker.onerror = (e) => lost(e.message || "the worker cannot start");
  worker.onmessage = ({data}) => {
    if (data.ready) {
      ready = true;
      show();
      if (!$("version").textContent) greet();
    } else if (data.failed) {
      lost(data.failed);
    } else if (busy && data.id === busy.id) {
      if (data.fd) {
        busy.texts[data.fd] += data.text;
        if (busy.heard) busy.heard(data.fd, data.text);
      } else {
        const b = busy;
        busy = null;
        b.resolve({...data, out: b.texts[1], err: b.texts[2] + (data.crash ? "\n" + data.crash : "")});
      }
    }
  };
}

// lost says that the program cannot run here.
function lost(why) {
  $("state").textContent = why;
  $("compile").textContent = "Not loaded";
}

// nncc runs a command and gives {code, out, err, files}.
function nncc(args, files, out, heard) {
  return new Promise((resolve) => {
    busy = {id: ++commands, resolve, texts: {1: "", 2: ""}, heard};
    worker.postMessage({id: busy.id, args, files, out});
  });
}

async function greet() {
  const version = await nncc(["version"], []);
  $("version").textContent = version.out.trim();
  const boards = JSON.parse((await nncc(["boards", "--json"], [])).out);
  $("board").replaceChildren(...boards.map((b) => {
    const o = new Option(b.name, b.name, b.name === "cortex-m55", b.name === "cortex-m55");
    o.title = b.doc;
    return o;
  }));
  show();
}

function show() {
  const loaded = ready && $("version").textContent;
  $("compile").textContent = loaded ? "Compile" : "Loading…";
  $("compile").disabled = !loaded || Boolean(busy) || chosen.model.length === 0;
  $("stop").hidden = !(busy && loaded);
  for (const k of ["model", "calib"]) $(k + "name").textContent = names(chosen[k]);
}

function names(files) {
  const shown = files.slice(0, 5).map((f) => f.path + " (" + bytes(f.file.size) + ")").join(", ");
  return files.length > 5 ? shown + " and " + (files.length - 5) + " more" : shown;
}

function bytes(n) {
  return n < 1e4 ? n + " B" : n < 1e7 ? Math.round(n / 1e3) + " KB" : Math.round(n / 1e6) + " MB";
}

// dropped gives the files of a drop, those in folders too: [{path, file}].
async function dropped(transfer) {
  const entries = [...transfer.items].map((i) => i.webkitGetAsEntry && i.webkitGetAsEntry()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((file) => ({path: file.name, file}));
  const out = [];
  const walk = async (entry, prefix) => {
    if (entry.isFile) {
      out.push({path: prefix + entry.name, file: await new Promise((ok, no) => entry.file(ok, no))});
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((ok, no) => reader.readEntries(ok, no));
      if (some.length === 0) break;
      for (const e of some) await walk(e, prefix + entry.name + "/");
    }
  };
  for (const e of entries) await walk(e, "");
  return out.sort((a, b) => (a.path < b.path ? -1 : 1));
}

for (const kind of ["model", "calib"]) {
  const zone = $("drop" + kind);
  $(kind).addEventListener("change", (e) => {
    chosen[kind] = [...e.target.files].map((file) => ({path: file.name, file}));
    show();
  });
  zone.addEventListener("dragover", (e) => {
    e.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", async (e) => {
    e.preventDefault();
    zone.classList.remove("over");
    chosen[kind] = await dropped(e.dataTransfer);
    show();
  });
}
$("example").addEventListener("click", async () => {
  const load = async (path) => ({path, file: await (await fetch(path)).blob()});
  chosen.model = [await load("digits.onnx")];
  chosen.calib = [await load("digits_calib.npz")];
  show();
});

// A file that misses a zone must not replace the page.
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (e) => e.preventDefault());

// words splits flags as a shell does: by spaces, quotes keep together.
function words(s) {
  return [...s.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map((m) => m[0].replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

function quoted(w) {
  return /^[\w@%+=:,./-]+$/.test(w) ? w : "'" + w.replaceAll("'", "'\\''") + "'";
}

// theModel is the file that is the model; what else was dropped is its external data.
function theModel() {
  return chosen.model.find((f) => /\.(onnx|tflite)$/i.test(f.path)) || chosen.model[0];
}

// at is the path of a file of data. Loose files, more than one, get a folder.
function at(f) {
  return f.path.includes("/") || configures(f) || samples().length === 1 ? f.path : "samples/" + f.path;
}

// configures: a file that flags may name, and no sample.
const configures = (f) => /\.ya?ml$/i.test(f.path);

const samples = () => chosen.calib.filter((f) => !configures(f));

// data are the paths that --calib names: files and folders.
function data() {
  return [...new Set(samples().map((f) => at(f).split("/")[0]))];
}

// flags are those of the form, as the command line has them.
function flags(calib) {
  const list = ["--board", $("board").value];
  if ($("precision").value !== "auto") list.push("--precision", $("precision").value);
  for (const c of calib) list.push("--calib", c);
  return [...list, ...words($("flags").value)];
}

function read(files) {
  return Promise.all(files.map(async (f) => ({path: f.path, bytes: new Uint8Array(await f.file.arrayBuffer())})));
}

$("form").addEventListener("submit", async (e) => {
  e.preventDefault();
  if (busy || !ready || chosen.model.length === 0) return;
  const model = theModel();
  const calib = data();
  let input;
  try {
    input = await read([...chosen.model, ...chosen.calib.map((f) => ({...f, path: at(f)}))]);
  } catch (err) {
    $("state").textContent = "A file cannot be read (" + err.message + "): choose it again";
    return;
  }
  $("said").textContent = "";
  $("result").hidden = false;
  $("verdict").textContent = "";
  for (const id of ["downloads", "page"]) $(id).hidden = true;
  const stem = model.path.replace(/\.(onnx|tflite)$/i, "") + "-" + $("board").value;
  const began = performance.now();
  const ticking = setInterval(() => {
    $("state").textContent = "Compiling, " + ((performance.now() - began) / 1000).toFixed(1) + " s";
  }, 100);
  const running = nncc([...flags(calib), "--out", stem, model.path], input, stem,
    (fd, text) => {
      if (fd === 2) $("said").textContent += text;
    });
  show();
  const r = await running;
  clearInterval(ticking);
  $("state").textContent = (r.stopped ? "Stopped" : "Took") + " after ".repeat(r.stopped ? 1 : 0) + " " +
    ((performance.now() - began) / 1000).toFixed(1) + " s";
  finish(r, model, calib, stem);
  show();
});

function finish(r, model, calib, stem) {
  const written = r.files.find((f) => f.path === "report.json");
  const verdict = r.code === 0 && written ? JSON.parse(new TextDecoder().decode(written.bytes)).verdict : {
    text: r.stopped ? "Stopped" : statuses[r.code] || "Ended with status " + r.code, good: false};
  $("verdict").textContent = verdict.text.charAt(0).toUpperCase() + verdict.text.slice(1);
  $("verdict").classList.toggle("bad", !verdict.good);
  $("said").textContent = (r.err + r.out).trim();
  const rest = [...flags(calib), model.path].map(quoted).join(" ");
  $("command").textContent = "nncc " + rest + "\nnncc verify " + rest;
  const page = r.files.find((f) => f.path === "report.html");
  $("downloads").hidden = r.files.length === 0;
  $("page").hidden = !page;
  for (const id of ["zip", "report"]) if ($(id).href.startsWith("blob:")) URL.revokeObjectURL($(id).href);
  if (r.files.length === 0) return;
  $("zip").href = URL.createObjectURL(zip(r.files.map((f) => ({path: stem + "/" + f.path, bytes: f.bytes}))));
  $("zip").download = stem + ".zip";
  if (!page) return;
  const html = new Blob([page.bytes], {type: "text/html"});
  $("report").href = URL.createObjectURL(html);
  $("page").srcdoc = new TextDecoder().decode(page.bytes);
}

$("stop").addEventListener("click", () => {
  worker.terminate();
  const b = busy;
  busy = null;
  start();
  if (b) b.resolve({code: -1, stopped: true, out: "", err: b.texts[2], files: []});
});

if (navigator.serviceWorker && window.isSecureContext) navigator.serviceWorker.register("offline.js").catch(() => {});
start();
