// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
)

// TestBisectStatus: a stage that does more than it may is exit status 1 and
// named; without one it is 0.
func TestBisectStatus(t *testing.T) {
	m := tinyModel(t, t.TempDir())
	if code, out, msg := call("bisect", "-board", "cortex-m4", m); code != exitOK ||
		!strings.Contains(out, "no stage does more") {
		t.Errorf("exit status %d: %s%s", code, out, msg)
	}
	row, err := lower.Find("decompose")
	must(t, err)
	right := row.Run
	defer func() { row.Run = right }()
	row.Run = func(s *lower.State) error { // a wrong rewrite: constants are zeros
		for _, n := range s.Graph.Nodes {
			if v := n.Input(1); v != nil && v.Const != nil {
				v.Const = tensor.New(v.Type.DType, v.Type.Shape)
			}
		}
		return right(s)
	}
	code, out, msg := call("bisect", "-board", "cortex-m4", m)
	if code != exitDiffer || !strings.Contains(out, "-decompose is the first stage that does more than it may") {
		t.Errorf("exit status %d: %s%s", code, out, msg)
	}
}
