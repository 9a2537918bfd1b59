// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/nncc/nncc/ir/fail"
)

// table is a generated Go file.
type table struct {
	name string // as given on the command line
	out  string // file to write, below the repository's root, with slashes
	// build makes the file from data below root.
	build func(root string) (*jen.File, error)
}

// tables is the registry; a new generated table is one line here.
var tables = []table{
	{"schemas", "frontend/onnx/schema/schema_gen.go", schemaTable},
	{"cmsisnn", "ir/qref/cmsis/rows_gen.go", cmsisTable},
	{"params", "lower/kernel/param/params_gen.go", paramTable},
}

func findTable(name string) *table {
	for i := range tables {
		if tables[i].name == name {
			return &tables[i]
		}
	}
	return nil
}

func tableNames() string {
	var s []string
	for _, t := range tables {
		s = append(s, t.name)
	}
	return strings.Join(s, ", ")
}

// render gives the path of the table's file and the bytes it should hold.
func (t *table) render(root string) (path string, content []byte, err error) {
	defer fail.Catch(&err)
	f := fail.Must(t.build(root))
	var b bytes.Buffer
	fail.Check(f.Render(&b))
	return filepath.Join(root, filepath.FromSlash(t.out)), b.Bytes(), nil
}
