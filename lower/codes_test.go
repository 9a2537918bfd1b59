// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower"
)

const codesFile = "testdata/codes.txt"

// TestCodes: the codes of refusals stay. Users grep for them, and tools count them;
// testdata/codes.txt has those that were ever released, -update adds new ones. The
// code of a kernel that is gone is marked "retired" by hand and never used again.
func TestCodes(t *testing.T) {
	now := map[string]bool{}
	for _, k := range lower.AllKernels() {
		for _, r := range k.Rules {
			now[r.Code] = true
		}
	}
	data, err := os.ReadFile(codesFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(listed) < 500 {
		t.Fatalf("%s lists %d codes", codesFile, len(listed))
	}
	for _, line := range listed {
		c, retired := strings.CutSuffix(line, " retired")
		switch {
		case retired && now[c]:
			t.Errorf("the code %s is retired: take a new one", c)
		case !retired && !now[c]:
			t.Errorf("no rule has the code %s: a rule that changes keeps its code; if its kernel is gone, "+
				"mark it retired in lower/%s", c, codesFile)
		}
		delete(now, c)
	}
	if !irtest.Update() {
		return
	}
	for c := range now {
		listed = append(listed, c)
	}
	slices.Sort(listed)
	if err := os.WriteFile(codesFile, []byte(strings.Join(listed, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}
