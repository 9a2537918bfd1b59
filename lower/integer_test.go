// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// TestFrontEndIsNoWarning: what stays float behind a spectrum by design has an integer form; it is
// noted, not warned of.
func TestFrontEndIsNoWarning(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,128]
  const %w : f32[32] = rand 1
  const %m : f32[17,8] = rand 2
  const %f : f32[8,8] = rand 3
  %p = nncc.Spectrum(%x, %w) {length=32, bins=17, frames=7, step=16, power=1}
  %q = MatMul(%p, %m)
  %a = Relu(%q)
  %r = Sqrt(%a)
  %y = MatMul(%r, %f)
  out "y" = %y
}`)
	r, err := lower.Run(g, lower.Options{Precision: option.Int8, Legalize: true, Libraries: []string{"cmsisnn", "refc"},
		Quant: quant.Options{Samples: quant.SyntheticSamples(g.In, 4, 1)}})
	testenv.OK(t, err)
	has := func(code string) bool {
		return slices.ContainsFunc(r.Diags, func(d *diag.Diag) bool { return d.Code == code })
	}
	testenv.Check(t, !has("float-node") && has("float-front-end"), "%q", r.Diags)
}

const codesFile = "testdata/codes.txt"

var codeForm = regexp.MustCompile(`^[A-Z0-9]+(-[A-Z0-9]+)*$`)

// TestCodes: the codes of refusals stay. Users grep for them, and tools count them;
// testdata/codes.txt has those that were ever released, -update adds new ones. The
// code of a condition that is gone is marked "retired" by hand and never used again.
// A row has a code once: it says which condition refuses.
func TestCodes(t *testing.T) {
	now := codes(t)
	data := testenv.Must(os.ReadFile(codesFile))(t)
	listed := strings.Split(strings.TrimSpace(string(data)), "\n")
	testenv.Require(t, len(listed) >= 150, "%s lists %d codes", codesFile, len(listed))
	for _, line := range listed {
		c, retired := strings.CutSuffix(line, " retired")
		switch {
		case retired && now[c]:
			t.Errorf("the code %s is retired: take a new one", c)
		case !retired && !now[c]:
			t.Errorf("no condition has the code %s: one that changes keeps its code; if it is gone, mark it retired "+
				"in lower/%s", c, codesFile)
		}
		delete(now, c)
	}
	if irtest.Update() {
		writeCodes(t, listed, now)
	}
}

// codes are those of all rows.
func codes(t *testing.T) map[string]bool {
	now := map[string]bool{}
	for _, k := range lower.AllKernels() {
		of := map[string]bool{}
		for _, r := range k.Rules {
			testenv.Check(t, !of[r.Code] && r.Doc != "" && codeForm.MatchString(r.Code),
				"%s: the code %q of %q is there twice, or not in capitals and digits", k.Name, r.Code, r.Doc)
			of[r.Code], now[r.Code] = true, true
		}
	}
	return now
}

func writeCodes(t *testing.T, listed []string, now map[string]bool) {
	for c := range now {
		listed = append(listed, c)
	}
	slices.Sort(listed)
	testenv.OK(t, os.WriteFile(codesFile, []byte(strings.Join(listed, "\n")+"\n"), 0o666))
}
