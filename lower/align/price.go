package align

import "github.com/nncc/nncc/ir"

// Price is what a layer costs an inference.
type Price struct {
	Instructions float64
	Kernel       string  // the function that would run
	Error        float64 // relative: how far the model behind it may be off
	Unknown      string  // why there is no price; "" when there is one
}

// Pricer prices node n with the given shapes in place of those of its run-time
// inputs and outputs (nil: as they are).
type Pricer func(n *ir.Node, in, out [][]int) Price

func (a *analysis) pays(g *group) (float64, string, bool) {
	return 0, "no costs are known", false
}
