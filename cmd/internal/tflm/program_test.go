package tflm

import (
	"context"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/conform"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestPrograms: firmware of drawn layers computes what the reference interpreter does, bit
// for bit: on the host, with NNCC_LONG or by NNCC_BOARDS on cores, too.
func TestPrograms(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	targets := []string{"host"}
	if testenv.Long() {
		testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		targets = append(targets, "cortex-m4", "cortex-m0plus")
	}
	from, count := testenv.Range(t, 1)
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
		if err != nil {
			t.Fatal(err)
		}
		if err := conform.RunLayers(context.Background(), all, spec, func(i int, err error) {
			if err != nil {
				t.Errorf("%s: %v\n%s", target, err, drawn[i])
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
