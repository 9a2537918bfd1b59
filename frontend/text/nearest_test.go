// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/text"
)

// TestNearest: slips of the keyboard, names cut short, another case, and a part of a path are
// understood; nothing is made of a word that is like none.
func TestNearest(t *testing.T) {
	boards := []string{"cortex-m4", "cortex-m0plus", "cortex-m55", "stm32f411", "host"}
	nodes := []string{"/Stem/Conv", "/stem/bn/BatchNormalization", "/Head/fc/Gemm",
		strings.Repeat("/backbone/layer", 8) + "/Relu"}
	for _, c := range []struct {
		s    string
		all  []string
		want string
	}{
		{"m4", boards, "cortex-m4"}, {"cortexm55", boards, "cortex-m55"}, {"M0+", boards, "cortex-m0plus"},
		{"stm32", boards, "stm32f411"}, {"f411", boards, "stm32f411"}, {"hots", boards, "host"},
		{"hsot", boards, "host"}, {"tsoh", boards, ""}, {"esp32", boards, ""},
		{"", boards, ""}, {"----", boards, ""}, {"host", nil, ""},
		{"/stem/conv", nodes, "/Stem/Conv"}, {"/Stem/Cnov", nodes, "/Stem/Conv"}, {"batchnorm", nodes, nodes[1]},
		{"/Head/fc", nodes, "/Head/fc/Gemm"}, {"Head.fc.Gemm", nodes, "/Head/fc/Gemm"},
		{strings.Repeat("/backbone/layer", 8) + "/Relv", nodes, nodes[3]}, {"decoder", nodes, ""},
	} {
		if got := text.Nearest(c.s, c.all); got != c.want {
			t.Errorf("%q: %q, want %q", c.s, got, c.want)
		}
	}
}
