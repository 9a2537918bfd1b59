// SPDX-License-Identifier: Apache-2.0

package diag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestList(t *testing.T) {
	var l diag.List
	l.Add(diag.Warnf("a", "n", "%s is slow", "n"), diag.Notef("b", "", "done"), diag.Warnf("a", "n", "n is slow"),
		diag.Notef("c", "", "n is slow"))
	l.From("fuse").From("later")
	if w, n := l.Texts(diag.Warning), l.Texts(diag.Note); !slices.Equal(w, []string{"n is slow"}) ||
		!slices.Equal(n, []string{"done", "n is slow"}) {
		t.Errorf("warnings %q, notes %q", w, n)
	}
	e := l.Texts(diag.Error)
	testenv.Check(t, e != nil && len(e) == 0, "errors %#v, want an empty list", e)
	b, err := json.Marshal(l[0])
	if want := `{"severity":"warning","code":"a","node":"n","stage":"fuse","message":"n is slow"}`; err != nil ||
		string(b) != want {
		t.Errorf("%v: %s, want %s", err, b, want)
	}
}

// TestIn: diagnostics are found however they are wrapped, in order.
func TestIn(t *testing.T) {
	a, b := &diag.Diag{Code: "a", Node: "x", Msg: "is odd", Hint: "mend it"}, &diag.Diag{Code: "b"}
	err := fmt.Errorf("outer: %w", errors.Join(a, errors.New("no diagnostic"), fmt.Errorf("inner: %w", b)))
	l := diag.In(err)
	testenv.Check(t, len(l) == 2 && l[0] == a && l[1] == b, "%v", l)
	testenv.Check(t, a.Error() == "x: is odd (mend it)" && diag.In(nil) == nil, "%v", a)
}

// TestPlace: errors and limits say where they are, warnings are sentences that
// do so themselves; Full does always, Reason never.
func TestPlace(t *testing.T) {
	for severity, with := range map[diag.Severity]bool{diag.Error: true, diag.Warning: false, diag.Note: false,
		diag.Limit: true} {
		d := &diag.Diag{Severity: severity, Code: "c", Node: "x", Msg: "is 3", Want: "2", Hint: "mend it"}
		want := "is 3; want 2 (mend it)"
		if d.Reason() != want || d.Full() != "x: "+want || (d.Error() == d.Full()) != with ||
			d.String() != severity.String()+": x: "+want+" [c]" {
			t.Errorf("%v: %q, %q, %q, %q", severity, d.Reason(), d.Full(), d.Error(), d.String())
		}
		l := (diag.List{d})
		testenv.Check(t, l.Count(severity) == 1 && l.Count(severity+1) == 0, "%v is counted wrong", severity)
	}
}
