// SPDX-License-Identifier: Apache-2.0
"use strict";

// A .zip of files [{path, bytes}], stored as they are: the same files give the same bytes.

const crcTable = Uint32Array.from({length: 256}, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function crc32(bytes) {
  let c = 0xffffffff;
  for (const b of bytes) c = crcTable[(c ^ b) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

const jan1980 = 0x21; // the first day that the format knows

// header gives the fields that a file's own header and the directory share.
function header(signature, versions, name, bytes, more) {
  const h = new DataView(new ArrayBuffer(signature === 0x04034b50 ? 30 : 46));
  let at = 0;
  const put = (width, v) => {
    if (width === 2) h.setUint16(at, v, true);
    else h.setUint32(at, v, true);
    at += width;
  };
  put(4, signature);
  for (const v of versions) put(2, v);
  put(2, 0x0800); // names in UTF-8
  put(2, 0);      // stored
  put(2, 0);
  put(2, jan1980);
  put(4, crc32(bytes));
  put(4, bytes.length);
  put(4, bytes.length);
  put(2, name.length);
  for (const [width, v] of more) put(width, v);
  return new Uint8Array(h.buffer);
}

function zip(files) {
  const parts = [];
  const directory = [];
  let at = 0;
  for (const f of files) {
    const name = new TextEncoder().encode(f.path);
    directory.push(header(0x02014b50, [0x0314, 20], name, f.bytes,
      [[2, 0], [2, 0], [2, 0], [2, 0], [4, 0o100644 * 65536], [4, at]]), name);
    const own = header(0x04034b50, [20], name, f.bytes, [[2, 0]]);
    parts.push(own, name, f.bytes);
    at += own.length + name.length + f.bytes.length;
  }
  const size = directory.reduce((n, d) => n + d.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, at, true);
  return new Blob([...parts, ...directory, end.buffer], {type: "application/zip"});
}
