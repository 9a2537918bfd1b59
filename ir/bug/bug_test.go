// SPDX-License-Identifier: Apache-2.0

package bug_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestIs: faults are known by their type through every kind of wrapping; a text
// that speaks of bugs is none.
func TestIs(t *testing.T) {
	fault := bug.Errorf("%s: %w", "a value is not there", io.EOF)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fault, true},
		{fmt.Errorf("folding: %w", fault), true},
		{errors.Join(errors.New("a"), fault), true},
		{bug.Recovered(fault), true},
		{bug.Recovered(io.EOF), true},
		{errors.New("BUG: x"), false},
		{nil, false},
	} {
		testenv.Check(t, bug.Is(c.err) == c.want, "%v: want %v", c.err, c.want)
	}
	if !errors.Is(fault, io.EOF) || fault.Error() != "BUG: a value is not there: EOF" || bug.Recovered(fault) != fault {
		t.Errorf("%v", fault)
	}
}
