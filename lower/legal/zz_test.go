package legal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/legal"
)

func TestZZ(t *testing.T) {
	for _, name := range strings.Fields(os.Getenv("ZZ")) {
		m, err := onnx.Load(irtest.Shared(t, "models", name+".onnx"), onnx.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := onnx.Import(m, onnx.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		show := func(g *ir.Graph) {
			var b strings.Builder
			g.WriteText(&b, true)
			for _, l := range strings.Split(b.String(), "\n") {
				if !strings.HasPrefix(l, "  const") {
					if i := strings.Index(l, " from "); i > 0 {
						l = l[:i]
					}
					fmt.Println(l)
				}
			}
		}
		if os.Getenv("B") != "" {
			show(g)
		}
		ps := legal.Passes
		if o := os.Getenv("ONLY"); o != "" {
			if ps, err = pass.Select(ps, strings.Split(o, ",")...); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&pass.Manager{Passes: ps}).Run(&pass.Ctx{}, g); err != nil {
			t.Fatal(err)
		}
		show(g)
	}
}
