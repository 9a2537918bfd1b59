// SPDX-License-Identifier: Apache-2.0

// Package sources walks the files of which the repository consists. What a user
// adds to a clone is none of them: firmware in out or beside it, programs,
// caches, results of runs. So no check depends on what was done there before.
package sources

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Folders are those that the project fixes; each explains itself in a README.md.
var Folders = []string{"boards", "cmd", "codegen", "frontend", "ir", "lower", "runtime_c", "schedule"}

// files stand in the root; tools are the folders that hosts and readers look for.
var (
	files = []string{".clang-format", ".gitignore", ".revive.toml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
		"Makefile", "NOTICE", "README.md", "SECURITY.md", "go.mod", "go.sum"}
	tools = []string{".ci", ".github", "docs"}
)

// written are the files by which nncc knows a folder that it wrote.
var written = []string{"report.json", "run.json", "dump.json"}

// Walk calls visit with the path below root, with slashes, of every regular file
// of the repository, in the order of their names.
func Walk(root string, visit func(rel string) error) error {
	for _, top := range slices.Sorted(slices.Values(slices.Concat(files, tools, Folders))) {
		err := filepath.WalkDir(filepath.Join(root, top), func(p string, d fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err) && d == nil:
				return nil // a part of the repository: tests make these
			case err != nil:
				return err
			case d.IsDir() && foreign(p):
				return filepath.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			return visit(filepath.ToSlash(rel))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// foreign reports a folder that nncc wrote, or a package manager.
func foreign(dir string) bool {
	return filepath.Base(dir) == "node_modules" || slices.ContainsFunc(written, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}
