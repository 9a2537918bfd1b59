// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestBaseline: one finding more than the baseline has is told, one less is not,
// and what is written is read back.
func TestBaseline(t *testing.T) {
	f := func(rule, file string) (x finding) {
		x.RuleName, x.Position.Start.Filename = rule, file
		return x
	}
	list := []finding{f("exported", "ir/a.go"), f("exported", "ir/b.go"), f("cyclomatic", "ir/a.go")}
	by := map[key][]finding{}
	for _, x := range list {
		by[x.key()] = append(by[x.key()], x)
	}
	base, err := readBaseline([]byte("cyclomatic,ir,1\nexported,ir,2\n"))
	if err != nil || len(base) != 2 || base[key{"exported", "ir"}] != 2 {
		t.Fatalf("%v, %v", base, err)
	}
	if more := above(by, base, false); len(more) != 0 {
		t.Errorf("more than itself: %v", more)
	}
	base[key{"exported", "ir"}] = 1
	if more := above(by, base, false); len(more) != 1 || more[0] != (key{"exported", "ir"}) {
		t.Errorf("%v, want the one with a finding more", more)
	}
	base[key{"exported", "ir"}] = 3
	if more := above(by, base, false); len(more) != 0 {
		t.Errorf("less than the baseline is told: %v", more)
	}
}
