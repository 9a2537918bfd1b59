// SPDX-License-Identifier: Apache-2.0

package option_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// TestWords: every word stands for a value that prints as the word, and help
// names it; a slip is refused with the word that was meant, any other with all.
func TestWords(t *testing.T) {
	words[option.Precision](t)
	words[option.Weights](t)
	words[option.Method](t)
	words[option.Rounding](t)
	words[option.IO](t)
	words[option.IOLayout](t)
	words[option.Kernels](t)
	words[option.Align](t)
	words[option.Optimize](t)
	words[option.Outputs](t)
}

func words[T option.Enum](t *testing.T) {
	t.Helper()
	var v T
	f := option.Value(&v)
	seen := map[T]bool{}
	for _, w := range option.SpecOf[T]().Words {
		if w == "" {
			continue
		}
		if err := f.Set(w); err != nil || f.String() != w || seen[v] ||
			!slices.Contains(strings.Split(f.Type(), "|"), w) {
			t.Errorf("%T: %q becomes %q (%v); help: %s", v, w, v, err, f.Type())
		}
		seen[v] = true
		testenv.Refused(t, f.Set(w+"s"), "did you mean "+w+"?")
		if err := f.Set("qqqqqqqqqqqq"); err == nil || !strings.Contains(err.Error(), w) ||
			strings.Contains(err.Error(), "mean") || f.String() != w {
			t.Errorf("%T: no word at all: %v, %s", v, err, f)
		}
	}
	testenv.Check(t, len(seen) >= 2 && f.Set("") != nil, "%T: %d words", v, len(seen))
}
