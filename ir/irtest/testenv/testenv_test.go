// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
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
			if !testenv.Known(string(m[1])) {
				t.Errorf("%s asks for %s, which is no knob", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
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
