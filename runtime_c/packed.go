// SPDX-License-Identifier: Apache-2.0

//go:build packed

package runtimec

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
)

// archive is what runtime_c/pack wrote.
//
//go:embed packed.gz
var archive string

// sources is the tree of C, unpacked when the first file is opened.
var sources = packed(sync.OnceValue(func() fs.FS {
	z, err := gzip.NewReader(strings.NewReader(archive))
	bug.If(err != nil, "runtime_c: %w", err)
	b, err := io.ReadAll(z)
	bug.If(err != nil, "runtime_c: %w", err)
	files, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	bug.If(err != nil, "runtime_c: %w", err)
	return files
}))

type packed func() fs.FS

func (p packed) Open(name string) (fs.File, error) { return p().Open(name) }
