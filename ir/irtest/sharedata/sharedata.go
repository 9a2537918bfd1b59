// SPDX-License-Identifier: Apache-2.0

// Package sharedata finds the test data that lie beside the repository and not
// in it: reference models, calibration data, stored results. Every use of them
// goes through this package (a test says so), so that they can be hidden, moved
// and demanded in one place:
//
//	NNCC_SHARED=DIR      the data are in DIR
//	NNCC_SHARED=none     there are no data
//	NNCC_REQUIRE=shared  a test that lacks its data fails
//
// Unset, the data are in ../shared beside the repository, if anywhere. The
// program in the folder users lists the tests that use them.
package sharedata

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Dir is the folder of the data: "" where there is none or it is hidden.
func Dir() string {
	dir := testenv.Get("NNCC_SHARED")
	switch dir {
	case "none":
		return ""
	case "":
		root := Root()
		if root == "" {
			return ""
		}
		dir = filepath.Join(root, "..", "shared")
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return ""
	}
	return dir
}

// Root is the folder of go.mod above the working folder, "" outside of the
// repository.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Find is the path of a file or folder of the data, "" where it is not there:
// for tests that do more where the data are, and something without.
func Find(elem ...string) string {
	dir := Dir()
	if dir == "" {
		return ""
	}
	p := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(p); err != nil {
		return ""
	}
	return p
}

// Glob is filepath.Glob in the folder of the data: nothing without data.
func Glob(elem ...string) []string {
	dir := Dir()
	if dir == "" {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(append([]string{dir}, elem...)...))
	if err != nil {
		panic(err) // the pattern is wrong
	}
	return paths
}

// Need is the path of a file or folder of the data. Without it the test is
// skipped, or fails where NNCC_REQUIRE lists shared.
func Need(t testing.TB, elem ...string) string {
	t.Helper()
	p := Find(elem...)
	if p != "" {
		return p
	}
	what := filepath.Join(append([]string{"../shared"}, elem...)...)
	testenv.Lacks(t, "shared", "needs "+what+" beside the repository")
	return ""
}
