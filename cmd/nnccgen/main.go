// SPDX-License-Identifier: Apache-2.0

// Command nnccgen writes the generated Go tables of nncc from their data files.
//
//	nnccgen [-root DIR] [-check] [table...]   write (or compare) the tables, all by default
//	nnccgen [-root DIR] import-schemas CHANGELOG.md...
//	nnccgen c DIR                             write the runtime's C as compilers see it
//
// A table is one entry of tables.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	runtimec "github.com/nncc/nncc/runtime_c"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nnccgen:", err)
		os.Exit(2)
	}
}

func run(args []string) (err error) {
	defer fail.Catch(&err)
	fs := flag.NewFlagSet("nnccgen", flag.ContinueOnError)
	root := fs.String("root", ".", "root of the nncc repository")
	check := fs.Bool("check", false, "compare with the files that exist instead of writing")
	fail.Check(fs.Parse(args))
	names := fs.Args()
	if len(names) > 0 && names[0] == "import-schemas" {
		return importSchemas(*root, names[1:])
	}
	if len(names) == 2 && names[0] == "c" {
		return runtimec.WriteTree(names[1])
	}
	if len(names) == 0 {
		for _, t := range tables {
			names = append(names, t.name)
		}
	}
	var errs []error
	for _, n := range names {
		t := findTable(n)
		if t == nil {
			return fmt.Errorf("no table %q; there are %s", n, tableNames())
		}
		path, want, err := t.render(*root)
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		if *check {
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
				errs = append(errs, fmt.Errorf("%s is not what its data give; run go run ./cmd/nnccgen %s",
					filepath.ToSlash(t.out), n))
			}
			continue
		}
		fail.Check(os.WriteFile(path, want, 0o644))
	}
	return errors.Join(errs...)
}

// table is a generated Go file.
type table struct {
	name string // as given on the command line
	out  string // file to write, below the repository's root, with slashes
	// build makes the file from data below root.
	build func(root string) (*jen.File, error)
}

// tables is the registry; a new generated table is one line here.
var tables = []table{
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
	s := lists.Map(tables, func(t table) string { return t.name })
	return strings.Join(s, ", ")
}

func (t *table) render(root string) (path string, content []byte, err error) {
	defer fail.Catch(&err)
	f := fail.Must(t.build(root))
	var b bytes.Buffer
	fail.Check(f.Render(&b))
	return filepath.Join(root, filepath.FromSlash(t.out)), b.Bytes(), nil
}
