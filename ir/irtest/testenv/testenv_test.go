// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestKnobs: the environment is read here and nowhere else, and README.md lists
// every knob.
func TestKnobs(t *testing.T) {
	read := regexp.MustCompile(`(?:Getenv|LookupEnv)\("(?:NNCC_|CMSIS_NN_)\w+"\)`)
	asked := regexp.MustCompile(`testenv\.Get\("(\w+)"`)
	err := filepath.WalkDir(sharedata.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.Contains(path, filepath.Join("irtest", "testenv")) {
			return err
		}
		b, err := os.ReadFile(path)
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
