// SPDX-License-Identifier: Apache-2.0

package fail

import (
	"errors"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestCatch: an error ends the function, a fault of another kind passes through.
func TestCatch(t *testing.T) {
	want := errors.New("no")
	f := func(e error) (n int, err error) {
		defer Catch(&err)
		a := Must(1, nil)
		b, c := Must2(2, a, nil)
		d, _, _ := Must3(b+c, 0, 0, e)
		return d, nil
	}
	if n, err := f(nil); n != 3 || err != nil {
		t.Error(n, err)
	}
	if n, err := f(want); n != 0 || err != want {
		t.Error(n, err)
	}
	defer func() {
		r := recover()
		testenv.Check(t, r == "other", "%v", r)
	}()
	var err error
	defer Catch(&err)
	panic("other")
}
