// SPDX-License-Identifier: Apache-2.0
"use strict";

// A file system in memory, with the calls of Node's fs that Go's os package
// makes under GOOS=js. Paths are absolute or relative to "/". No links, no
// owners: what Go asks for and a page cannot have ends in an error it knows.

const O = {O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024,
  O_DIRECTORY: 65536};

class MemFS {
  // write(fd, bytes) is told what goes to the standard output (1) and error (2).
  constructor(write) {
    this.constants = O;
    this.say = write;
    this.inodes = 1;
    this.root = this.node(true);
    this.open_ = new Map();
    this.next = 3;
    for (const name of ["open", "close", "read", "write", "stat", "lstat", "fstat", "mkdir", "rmdir", "unlink",
      "rename", "readdir", "truncate", "ftruncate", "chmod", "fchmod", "utimes", "fsync"]) {
      const f = this[name + "Sync"].bind(this);
      this[name] = (...args) => {
        const done = args.pop();
        let result;
        try {
          result = f(...args);
        } catch (e) {
          if (!e.code) throw e;
          done(e);
          return;
        }
        done(null, result);
      };
    }
    for (const name of ["chown", "fchown", "lchown", "link", "symlink", "readlink"]) {
      this[name] = (...args) => args.pop()(failure(name === "readlink" ? "EINVAL" : "ENOSYS", name));
    }
  }

  node(dir) {
    return {ino: this.inodes++, dir, entries: dir ? new Map() : null, data: new Uint8Array(0), size: 0,
      mode: dir ? 0o755 : 0o644, time: 0};
  }

  parts(path) {
    const out = [];
    for (const p of path.split("/")) {
      if (p === "..") out.pop();
      else if (p !== "" && p !== ".") out.push(p);
    }
    return out;
  }

  find(path) {
    let n = this.root;
    for (const p of this.parts(path)) {
      if (!n.dir) throw failure("ENOTDIR", path);
      n = n.entries.get(p);
      if (!n) throw failure("ENOENT", path);
    }
    return n;
  }

  // parent gives the folder that holds path, and the name in it.
  parent(path) {
    const parts = this.parts(path);
    const name = parts.pop();
    if (name === undefined) throw failure("EINVAL", path);
    const dir = this.find(parts.join("/"));
    if (!dir.dir) throw failure("ENOTDIR", path);
    return [dir, name];
  }

  file(fd) {
    const f = this.open_.get(fd);
    if (!f) throw failure("EBADF", String(fd));
    return f;
  }

  openSync(path, flags, mode) {
    const create = flags & O.O_CREAT;
    let n;
    if (this.parts(path).length === 0) {
      n = this.root;
    } else {
      const [dir, name] = this.parent(path);
      n = dir.entries.get(name);
      if (n && create && flags & O.O_EXCL) throw failure("EEXIST", path);
      if (!n) {
        if (!create) throw failure("ENOENT", path);
        n = this.node(false);
        n.mode = mode & 0o777;
        dir.entries.set(name, n);
      }
    }
    if (n.dir && flags & (O.O_WRONLY | O.O_RDWR)) throw failure("EISDIR", path);
    if (!n.dir && flags & O.O_DIRECTORY) throw failure("ENOTDIR", path);
    if (flags & O.O_TRUNC && !n.dir) n.size = 0;
    const fd = this.next++;
    this.open_.set(fd, {n, at: 0, append: Boolean(flags & O.O_APPEND)});
    return fd;
  }

  closeSync(fd) {
    this.file(fd);
    this.open_.delete(fd);
  }

  readSync(fd, buffer, offset, length, position) {
    if (fd === 0) return 0;
    const f = this.file(fd);
    if (f.n.dir) throw failure("EISDIR", String(fd));
    const at = position === null ? f.at : position;
    const count = Math.max(0, Math.min(length, f.n.size - at));
    buffer.set(f.n.data.subarray(at, at + count), offset);
    if (position === null) f.at += count;
    return count;
  }

  writeSync(fd, buffer, offset, length, position) {
    const bytes = buffer.subarray(offset, offset + length);
    if (fd === 1 || fd === 2) {
      this.say(fd, bytes);
      return length;
    }
    const f = this.file(fd);
    const at = f.append ? f.n.size : position === null ? f.at : position;
    resize(f.n, Math.max(f.n.size, at + length));
    f.n.data.set(bytes, at);
    if (position === null) f.at = at + length;
    return length;
  }

  statSync(path) {
    return status(this.find(path));
  }

  lstatSync(path) {
    return status(this.find(path));
  }

  fstatSync(fd) {
    return status(this.file(fd).n);
  }

  mkdirSync(path, mode) {
    const [dir, name] = this.parent(path);
    if (dir.entries.has(name)) throw failure("EEXIST", path);
    const n = this.node(true);
    n.mode = mode & 0o777;
    dir.entries.set(name, n);
  }

  rmdirSync(path) {
    const [dir, name] = this.parent(path);
    const n = this.find(path);
    if (!n.dir) throw failure("ENOTDIR", path);
    if (n.entries.size > 0) throw failure("ENOTEMPTY", path);
    dir.entries.delete(name);
  }

  unlinkSync(path) {
    const [dir, name] = this.parent(path);
    if (this.find(path).dir) throw failure("EISDIR", path);
    dir.entries.delete(name);
  }

  renameSync(from, to) {
    const n = this.find(from);
    const [was, old] = this.parent(from);
    const [dir, name] = this.parent(to);
    const there = dir.entries.get(name);
    if (there && there !== n) {
      if (there.dir && !n.dir) throw failure("EISDIR", to);
      if (!there.dir && n.dir) throw failure("ENOTDIR", to);
      if (there.dir && there.entries.size > 0) throw failure("ENOTEMPTY", to);
    }
    was.entries.delete(old);
    dir.entries.set(name, n);
  }

  readdirSync(path) {
    const n = this.find(path);
    if (!n.dir) throw failure("ENOTDIR", path);
    return [...n.entries.keys()].sort();
  }

  truncateSync(path, length) {
    resize(this.find(path), length);
  }

  ftruncateSync(fd, length) {
    resize(this.file(fd).n, length);
  }

  chmodSync(path, mode) {
    this.find(path).mode = mode & 0o777;
  }

  fchmodSync(fd, mode) {
    this.file(fd).n.mode = mode & 0o777;
  }

  utimesSync(path, access, modified) {
    this.find(path).time = modified * 1000;
  }

  fsyncSync() {}

  // put writes a file and the folders above it.
  put(path, bytes) {
    const parts = this.parts(path);
    const name = parts.pop();
    let dir = this.root;
    for (const p of parts) {
      if (!dir.entries.has(p)) dir.entries.set(p, this.node(true));
      dir = dir.entries.get(p);
    }
    const n = this.node(false);
    n.data = bytes;
    n.size = bytes.length;
    dir.entries.set(name, n);
  }

  // tree gives the files below path: [{path, bytes}], by name, paths relative to it.
  tree(path) {
    const out = [];
    const walk = (n, prefix) => {
      for (const name of [...n.entries.keys()].sort()) {
        const c = n.entries.get(name);
        if (c.dir) walk(c, prefix + name + "/");
        else out.push({path: prefix + name, bytes: c.data.slice(0, c.size)});
      }
    };
    let n;
    try {
      n = this.find(path);
    } catch {
      return out;
    }
    if (n.dir) walk(n, "");
    return out;
  }
}

function failure(code, what) {
  const e = new Error(code + ": " + what);
  e.code = code;
  return e;
}

// resize makes a file as long as wanted; what is new in it is zero.
function resize(n, size) {
  if (size > n.data.length) {
    const data = new Uint8Array(Math.max(size, 2 * n.data.length, 4096));
    data.set(n.data.subarray(0, n.size));
    n.data = data;
  } else if (size > n.size) {
    n.data.fill(0, n.size, size);
  }
  n.size = size;
}

function status(n) {
  return {dev: 1, ino: n.ino, mode: n.mode | (n.dir ? 0o040000 : 0o100000), nlink: 1, uid: 0, gid: 0, rdev: 0,
    size: n.size, blksize: 4096, blocks: Math.ceil(n.size / 512), atimeMs: n.time, mtimeMs: n.time, ctimeMs: n.time,
    isDirectory: () => n.dir};
}
