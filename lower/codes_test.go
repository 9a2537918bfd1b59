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
// testdata/codes.txt has those that were ever released, -update adds new ones.
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
	listed := strings.Fields(string(data))
	if len(listed) < 500 {
		t.Fatalf("%s lists %d codes", codesFile, len(listed))
	}
	for _, c := range listed {
		if !now[c] {
			t.Errorf("no rule has the code %s: a rule that changes keeps its code, one that goes leaves it unused", c)
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
