// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestUsers: a test that asks for the data itself, one that does so over a
// helper of its package and one over a helper of another package are found,
// others are not.
func TestUsers(t *testing.T) {
	dir := t.TempDir()
	write := func(p, text string) {
		p = filepath.Join(dir, p)
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o777))
		testenv.OK(t, os.WriteFile(p, []byte(text), 0o666))
	}
	write("ir/irtest/sharedata/sharedata.go", "package sharedata\nfunc Need() { find() }\nfunc find() {}\n")
	write("cmd/help/help.go", "package help\nimport sd \"github.com/nncc/nncc/ir/irtest/sharedata\"\nfunc Model() { "+
		"sd.Need() }\nfunc Other() {}\n")
	write("cmd/a/a_test.go", `package a_test
import ("github.com/nncc/nncc/cmd/help"; "github.com/nncc/nncc/ir/irtest/sharedata")
func TestDirect() { sharedata.Need() }
func TestOver() { helper() }
func helper() { for { sharedata.Need() } }
func TestOther() { help.Model() }
func TestNone() { help.Other(); none() }
func none() {}
func BenchmarkNot() { sharedata.Need() }
`)
	got := testenv.Must(Users(dir, data))(t)
	want := []name{{"./cmd/a", "TestDirect"}, {"./cmd/a", "TestOther"}, {"./cmd/a", "TestOver"}}
	testenv.Same(t, got, want)
}

// TestOneWay: no source names the folder beside the repository but package
// sharedata: tests that find it on another way could not be hidden from it.
func TestOneWay(t *testing.T) {
	root := sharedata.Root()
	way := regexp.MustCompile(`"(\.\./)*\.\.(/|",\s*")shared`)
	seen := 0
	err := sources.Walk(root, func(rel string) error {
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		seen++
		if strings.HasPrefix(rel, "ir/irtest/sharedata/") {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(root, rel))
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			code, _, _ := strings.Cut(line, "//")
			testenv.Check(t, !way.MatchString(code), "%s:%d: %s: use package sharedata (irtest.Shared)", rel, i+1,
				strings.TrimSpace(line))
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatal(seen, err)
	}
	users, err := Users(root, data)
	testenv.Check(t, err == nil && len(users) >= 20, "%d tests use the data: %v", len(users), err)
}
