// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
)

// contents is the member of an archive with a line for each file: its path, chunk, place in it and digest,
// the functions that it defines, and the files that it needs.
const contents = "contents"

// chunkBytes is up to where files are compressed together, since many are alike. A model needs few of
// the chunks.
const chunkBytes = 128 << 10

// Pack is the library that nncc ships, expanded and read, as an archive: what a build with the tag "packed"
// embeds. Neither times nor modes are in it, so that equal sources give equal bytes.
func Pack() (_ []byte, err error) {
	defer fail.Catch(&err)
	var b, chunk, lines bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	add := func(name string, data []byte) { fail.Must(fail.Must(z.Create(name)).Write(data)) }
	add(manifest, fail.Must(fs.ReadFile(sources, manifest)))
	x, n := Shipped(), 0
	for _, f := range All() {
		if chunk.Len() > 0 && chunk.Len()+len(f.Data) > chunkBytes {
			add(strconv.Itoa(n), chunk.Bytes())
			chunk.Reset()
			n++
		}
		hex, rounds := x.digest(f.Path)
		fmt.Fprintf(&lines, "%s\t%d\t%d\t%d\t%s\t%t\t%s\t%s\n", f.Path, n, chunk.Len(), chunk.Len()+len(f.Data), hex,
			rounds, strings.Join(x.symbols(f.Path), " "), strings.Join(x.needed(f.Path), " "))
		chunk.Write(f.Data)
	}
	add(strconv.Itoa(n), chunk.Bytes())
	add(contents, lines.Bytes())
	fail.Check(z.Close())
	return b.Bytes(), nil
}

// unpack is the library of an archive. A chunk is unpacked when the first of its files is asked for.
func unpack(archive fs.FS) (_ *Library, err error) {
	defer fail.Catch(&err)
	x, chunks := newLibrary(), map[string]func() []byte{}
	for line := range strings.Lines(string(fail.Must(fs.ReadFile(archive, contents)))) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		file, name := f[0], f[1]
		if chunks[name] == nil {
			chunks[name] = sync.OnceValue(func() []byte {
				text, err := fs.ReadFile(archive, name)
				bug.If(err != nil, "runtime_c: %w", err)
				return text
			})
		}
		chunk, from, to := chunks[name], fail.Must(strconv.Atoi(f[2])), fail.Must(strconv.Atoi(f[3]))
		x.files[file] = func() []byte { return chunk()[from:to:to] }
		x.digests[digestKey(file)] = digested{f[4], f[5] == "true"}
		for _, s := range strings.Fields(f[6]) {
			x.defines[s] = file
		}
		x.needs.known[file] = strings.Fields(f[7])
	}
	return x, nil
}
