// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestKnobs: the environment is read here and nowhere else, and README.md lists
// every knob.
func TestKnobs(t *testing.T) {
	read := regexp.MustCompile(`(?:Getenv|LookupEnv)\("(?:NNCC_|CMSIS_NN_)\w+"\)`)
	asked := regexp.MustCompile(`testenv\.Get\("(\w+)"`)
	err := sources.Walk(sharedata.Root(), func(path string) error {
		if filepath.Ext(path) != ".go" || strings.Contains(path, "irtest/testenv") {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(sharedata.Root(), path))
		for _, s := range read.FindAll(b, -1) {
			t.Errorf("%s: %s; tests ask testenv", path, s)
		}
		for _, m := range asked.FindAllSubmatch(b, -1) {
			testenv.Check(t, testenv.Known(string(m[1])), "%s asks for %s, which is no knob", path, m[1])
		}
		return err
	})
	testenv.OK(t, err)
	readme := testenv.Must(os.ReadFile("README.md"))(t)
	for _, k := range testenv.Knobs {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", k.Name, k.Values, k.Doc); !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks the row\n%s", row)
		}
	}
}

// TestHidden: a process that a test starts sees neither a user's compilers nor CMSIS-NN; the
// test that asks does.
func TestHidden(t *testing.T) {
	if name := "NNCC_TEST_HIDDEN_ASKED"; os.Getenv(name) != "" {
		fmt.Println("CC is", os.Getenv("CC"), "in", os.Getenv("LC_ALL"), "lib is", os.Getenv("CMSIS_NN_LIB_M4"), "or",
			testenv.Get("CMSIS_NN_LIB_M4"))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHidden$")
	cmd.Env = append(os.Environ(), "NNCC_TEST_HIDDEN_ASKED=1", "CC=clang", "LC_ALL=tr_TR", "CMSIS_NN_LIB_M4=/m4.a",
		"MAKEFLAGS=-k")
	out, err := cmd.CombinedOutput()
	if want := "CC is  in C.UTF-8 lib is  or /m4.a\n"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v, %s, want %s", err, out, want)
	}
}

// seen is a test that keeps what it is told.
type seen struct {
	testing.TB
	text strings.Builder
}

func (s *seen) Helper()                   {}
func (s *seen) Errorf(f string, a ...any) { fmt.Fprintf(&s.text, f+"\n", a...) }
func (s *seen) Fatal(a ...any)            { fmt.Fprintln(&s.text, a...) }
func (s *seen) Fatalf(f string, a ...any) { s.Errorf(f, a...) }

// TestChecks: what holds says nothing, what does not hold says what was found, what is wanted and what it is about.
func TestChecks(t *testing.T) {
	var s seen
	broken := errors.New("broken: x")
	check := func(a, b int, list []string, err error) {
		testenv.Equal(&s, a, b)
		testenv.Equal(&s, a, b, "sum")
		testenv.Same(&s, list, nil, "case %d", a)
		testenv.Refused(&s, broken, "broken", "x"[:b-1])
		testenv.Equal(&s, testenv.Must(a, err)(&s), a)
		testenv.OK(&s, err, "call %d", a)
		testenv.Check(&s, a == b, "%d and %d", a, b)
		testenv.Require(&s, a == b, "not %d", b)
	}
	if check(1, 1, []string{}, nil); s.text.String() != "" {
		t.Errorf("of what holds: %s", &s.text)
	}
	check(1, 2, []string{"y"}, broken)
	testenv.Refused(&s, nil, "w")
	testenv.Refused(&s, testenv.Err(1, broken), "w")
	testenv.Equal(t, s.text.String(), "1, want 2\nsum: 1, want 2\ncase 1: [y], want []\nbroken: x\n"+
		"call 1: broken: x\n1 and 2\nnot 2\nerror <nil>, want \"w\" in it\nerror broken: x, want \"w\" in it\n")
}
