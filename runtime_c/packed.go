// SPDX-License-Identifier: Apache-2.0

//go:build packed

package runtimec

import (
	"archive/zip"
	_ "embed"
	"strings"

	"github.com/nncc/nncc/ir/bug"
)

// archive is what runtime_c/pack wrote.
//
//go:embed packed.zip
var archive string

// sources has the manifest.
var sources = func() *zip.Reader {
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	bug.If(err != nil, "runtime_c: %w", err)
	return z
}()

func open() (*Library, error) { return unpack(sources) }
