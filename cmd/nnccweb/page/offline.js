// SPDX-License-Identifier: Apache-2.0
"use strict";

// Keeps the page for times without a network. The version is that of the
// program: another program is another store.

const store = "nncc-VERSION";
const pages = ["./", "index.html", "page.css", "page.js", "zip.js", "worker.js", "memfs.js", "wasm_exec.js",
  "nncc.wasm.gz", "digits.onnx", "digits_calib.npz"];

self.addEventListener("install", (e) => {
  e.waitUntil(caches.open(store).then((c) => c.addAll(pages)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (e) => {
  e.waitUntil(caches.keys().then((names) => Promise.all(names.filter((n) => n.startsWith("nncc-") && n !== store)
    .map((n) => caches.delete(n)))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (e) => {
  e.respondWith(caches.open(store).then((c) => c.match(e.request, {ignoreSearch: true}))
    .then((kept) => kept || fetch(e.request)));
});
