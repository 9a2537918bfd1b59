// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestLocalNames: names are apart, whatever they are made of, and no input or output has to give way.
func TestLocalNames(t *testing.T) {
	io := newIONaming("m")
	io.names("m", []string{"at_x", "i8", "step_0_params"})
	n := &localNames{io, map[string]int{}}
	seen := map[string]bool{}
	for _, s := range []string{"X_2", "X", "X", "X", "X_2", "X_BYTES", "X_3", ""} {
		got := n.name("M_AT_" + s)
		testenv.Check(t, !seen[got] && !io.taken[got], "%s is taken", got)
		seen[got] = true
	}
	testenv.Equal(t, n.name("m_i8"), "m_i8_2", "beside an output m_i8")
}

func TestTail(t *testing.T) {
	for _, c := range [][2]string{{"/conv/Conv", "conv_Conv"}, {"", "value"}, {"größe 世界", "gr_e"}, {"世界", "value"},
		{strings.Repeat("long_", 30) + "end", "long_long_long_long_long_long_end"},
		{strings.Repeat("x", 200), strings.Repeat("x", maxTail)}} {
		if got := tail(c[0]); got != c[1] {
			t.Errorf("tail(%q) = %q, not %q", c[0], got, c[1])
		}
	}
}
