// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"time"

	"github.com/nncc/nncc/ir/fail"
)

// entry is a file of an archive.
type entry struct {
	name string
	data []byte
	mode fs.FileMode
}

// tarGz writes files below a folder; headers have the time of the commit, and no user.
func tarGz(w io.Writer, folder string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression) // its header has neither name nor time
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range list {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + f.name, Mode: int64(f.mode),
			Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		fail.Check(t.WriteHeader(h))
		fail.Must(t.Write(f.data))
	}
	fail.Check(t.Close())
	return z.Close()
}

// zipped is tarGz for Windows.
func zipped(w io.Writer, folder string, list []entry, at time.Time) (err error) {
	defer fail.Catch(&err)
	z := zip.NewWriter(w)
	for _, f := range list {
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		to := fail.Must(z.CreateHeader(h))
		fail.Must(to.Write(f.data))
	}
	return z.Close()
}
