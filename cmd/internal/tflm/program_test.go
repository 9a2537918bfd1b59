// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"context"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/conform"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// sampled is the share of the drawn layers that is run on a core by default.
const sampled = 12

// TestPrograms: firmware of drawn layers computes what the reference interpreter does, bit
// for bit: on the host, and a sample on a core; with NNCC_LONG some hundreds on three.
func TestPrograms(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	targets, every, n := []string{"host", "cortex-m55"}, sampled, 1
	if testenv.Long() {
		targets, every, n = append(targets, "cortex-m4", "cortex-m0plus"), 1, 3
	}
	if testenv.Get("NNCC_BOARDS") != "" {
		every = 1
	}
	from, count := testenv.Range(t, n)
	var all []*tflitetest.Layer
	var drawn []*layer
	for _, d := range stateless {
		for _, typ := range d.typesOf() {
			if typ == "f32" {
				continue
			}
			for seed := from; seed < from+count; seed++ {
				l := draw(d, typ, uint64(seed))
				drawn = append(drawn, l)
				all = append(all, &tflitetest.Layer{Op: l.op, Type: typ, Graph: l.Graph, Given: l.inputs()})
			}
		}
	}
	for _, target := range testenv.Boards(targets...) {
		spec, err := boards.Load(target)
		testenv.OK(t, err)
		stride := every
		if target == "host" {
			stride = 1
		}
		var some []*tflitetest.Layer
		for i := 0; i < len(all); i += stride {
			some = append(some, all[i])
		}
		if err := conform.RunLayers(context.Background(), some, spec, func(i int, err error) {
			if err != nil {
				t.Errorf("%s: %v\n%s", target, err, drawn[i*stride])
			}
		}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d layers", target, len(some))
	}
}
