// SPDX-License-Identifier: Apache-2.0

// Command pack writes the C sources as one compressed archive: what a build with
// the tag "packed" embeds in place of the tree.
//
//	go run ./runtime_c/pack
package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"log"
	"os"

	"github.com/nncc/nncc/ir/fail"
)

func main() {
	if err := pack(os.DirFS("runtime_c"), "runtime_c/packed.gz"); err != nil {
		log.Fatalf("pack: %v", err)
	}
}

// pack compresses all files together, since many are alike: members of the archive are stored as they are.
// Neither times nor modes are in it, so that equal trees give equal bytes.
func pack(tree fs.FS, to string) (err error) {
	defer fail.Catch(&err)
	var b bytes.Buffer
	small := fail.Must(gzip.NewWriterLevel(&b, gzip.BestCompression))
	files := zip.NewWriter(small)
	for _, pattern := range []string{"kernels.csv", "include/*/*", "src/*/*"} {
		for _, p := range fail.Must(fs.Glob(tree, pattern)) {
			w := fail.Must(files.CreateHeader(&zip.FileHeader{Name: p}))
			fail.Must(w.Write(fail.Must(fs.ReadFile(tree, p))))
		}
	}
	fail.Check(files.Close())
	fail.Check(small.Close())
	return os.WriteFile(to, b.Bytes(), 0o666)
}
