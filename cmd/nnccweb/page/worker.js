// SPDX-License-Identifier: Apache-2.0
"use strict";

// Runs nncc's command line, one command at a time, away from the page's thread.
// In:  {id, args, files: [{path, bytes}], out}   out: the folder whose files are wanted
// Out: {id, fd, text} while it runs, then {id, code, files}

importScripts("memfs.js", "wasm_exec.js");

// load fetches the program: gzip, so that no server has to compress it.
async function load() {
  const answer = await fetch("nncc.wasm.gz");
  if (!answer.ok) throw new Error("nncc.wasm.gz: " + answer.status + " " + answer.statusText);
  const packed = new Uint8Array(await answer.arrayBuffer());
  let body = new Blob([packed]).stream();
  // Where a server says Content-Encoding: gzip of such a file, the browser has unpacked it.
  if (packed[0] === 0x1f && packed[1] === 0x8b) body = body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(body).arrayBuffer());
}

const program = load();
program.then(() => postMessage({ready: true}), (e) => postMessage({failed: String(e)}));

async function run({id, args, files, out}) {
  const decoders = {1: new TextDecoder(), 2: new TextDecoder()};
  const fs = new MemFS((fd, bytes) => postMessage({id, fd, text: decoders[fd].decode(bytes, {stream: true})}));
  fs.put("/tmp/.keep", new Uint8Array(0));
  for (const f of files) fs.put("/" + f.path, f.bytes);
  globalThis.fs = fs;
  globalThis.process = {pid: 1, ppid: 0, getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0,
    getgroups: () => [], umask: () => 0, cwd: () => "/", chdir() {}};
  const go = new Go();
  go.argv = ["nncc", ...args];
  go.env = {HOME: "/", TMPDIR: "/tmp"};
  let code = 0;
  go.exit = (c) => {
    code = c;
  };
  const instance = await WebAssembly.instantiate(await program, go.importObject);
  await go.run(instance);
  for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer); // they would call a program that has ended
  const written = out ? fs.tree(out) : [];
  postMessage({id, code, files: written}, written.map((f) => f.bytes.buffer));
}

let last = Promise.resolve();
onmessage = (m) => {
  last = last.then(() => run(m.data)).catch((e) => postMessage({id: m.data.id, code: 70, crash: String(e), files: []}));
};
