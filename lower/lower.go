// Package lower takes an imported graph to kernel calls: float legalisation,
// fixed point, memory orders, kernel choice. pipeline.go has the passes in
// order; every stage can be dumped.
package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/lower/prune"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
	"github.com/nncc/nncc/schedule"
)

// Precisions are the values of --precision; model is float32 with OwnTypes.
var Precisions = []string{"auto", "int8", "int16x8", "float32", "model"}

// Options of Run.
type Options struct {
	Precision string // auto, int8, int16x8, float32; the layers' own are in Quant
	Legalize  bool
	OwnTypes  bool // float types stay those of the model, instead of float32
	FloatIO   bool // inputs and outputs stay float
	NativeIO  bool // rank-4 inputs and outputs in the kernels' own order
	Target    kernel.Options
	Libraries []string // kernel libraries, best first: cmsisnn, refc
	Quant     quant.Options
	// Accel is the board's accelerator; nil: it has none.
	Accel accel.Accelerator
	// DeadChannels removes channels that are constant for every input or that
	// nobody reads.
	DeadChannels bool
	Fuse         bool // compute neighbours together where a kernel does
	// Align pads channels: auto, always or never ("" is never); PadInput allows
	// it to add channels to inputs.
	Align    string
	PadInput bool
	MaxRAM   int             // bytes of arena to stay below if that can be; 0: whatever is fastest
	MaxTries int             // programs that are planned in search of one that does; 0: as many as pays
	Ties     []Tie           // recurrent state
	Stream   *stream.Options // feed a few frames at a time; nil: whole windows
	// Installed: the program will be linked with an installed CMSIS-NN; its
	// kernels have costs of their own.
	Installed bool
	// Optimize weighs instructions against bytes: speed, size or balanced; "" is
	// speed.
	Optimize string
	// Dump sees the graph after every stage, under a name such as 03-bn-fold.
	Dump func(name string, g *ir.Graph) error
}

// Result is a graph ready for the schedule, with what was decided on the way.
type Result struct {
	Graph *ir.Graph // final: types, orders and quantisation fixed
	// Reference computes what Graph must compute bit for bit: the graph as it
	// was before anything was rearranged for speed or size.
	Reference *ir.Graph

	// Model is what the program stands for by its own semantics: the graph as
	// imported where it carries its own quantisation or nothing is quantised, else
	// QDQ. Whole is the program whose values say which tensors of Model they hold:
	// Reference, or the graph before it was brought to 4-D bit for bit.
	Model, Whole *ir.Graph

	Legal       *ir.Graph // legalised float graph
	QDQ         *ir.Graph // with QuantizeLinear and DequantizeLinear nodes; nil in float32
	Low         map[*ir.Node]*call.Lowered
	Choices     map[*ir.Node]kernel.Choice // the kernel of each node, and why better ones were not
	Offers      map[*ir.Node][]Offer       // what Low was chosen from
	Weighed     Weighed
	Precision   string // of the layers: int8, int16x8, int4, mixed, float32 (or another float type), integer
	Layers      Layers // how many have which
	Warnings    []string
	Notes       []string // what is no warning
	Rewrites    []pass.Rewrite
	Calibration *quant.Report   // nil unless this run quantised the model
	Pruned      []prune.Cut     // values that lost channels
	Fusions     []fuse.Fusion   // nodes that became one, or could have
	Aligned     *align.Result   // the alignment of channel counts; nil on accelerators
	Patched     *Patched        // first layers in stripes; nil: none
	Effort      schedule.Effort // for the schedule; 0: Full
	Tried       int             // programs that were looked at for MaxRAM; 0: there was no need
	States      []schedule.Tie  // recurrent state
	Ties        []Tie           // by name
	Streamed    *stream.Result  // nil: whole windows
	Slides      *stream.Options // with the frames of a step
	Segments    []*ir.Node      // what runs on the accelerator, in order
	Refused     []Refusal       // what it does not take
	curves      []fuse.Fusion   // int16 functions that became one
	restore     map[*ir.Node]bool
}

// native4D: the graph takes the 4-D form that the accelerator wants.
func (o *Options) native4D() bool {
	return o.Accel != nil && o.Legalize && o.Accel.Traits().Native4D
}

// Quantised reports a graph that carries its own quantisation.
func Quantised(g *ir.Graph) bool {
	for _, n := range g.Nodes {
		if n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear {
			return true
		}
	}
	return false
}

// Run lowers g, which it consumes.
func Run(g *ir.Graph, o Options) (*Result, error) {
	r := &Result{}
	o.Target.Memo = map[any]any{}
	d := &dumper{dump: o.Dump}
	if err := d.stage("import", g); err != nil {
		return nil, err
	}
	var single *Single
	var err error
	if !o.OwnTypes {
		if single, err = ToSingle(g); err != nil {
			return nil, err
		}
	}
	if single != nil {
		r.Notes = append(r.Notes, single.Notes...)
		o.Quant.Samples, o.Ties = single.Samples(o.Quant.Samples), single.ties(o.Ties)
		if err := d.stage("single", g); err != nil {
			return nil, err
		}
	}
	spelt := spelledOut(g)
	var restore *ir.Graph
	own := Quantised(g)
	fidelity.Mark(g)
	r.Model = g.Clone()
	if o.native4D() && !own {
		if g, restore, err = fourD(g, r, d, false); err != nil {
			return nil, err
		}
	} else if err := Legalise(g, o, r, d); err != nil {
		return nil, err
	}
	if o.Quant.Ties, err = indices(g, o.Ties); err != nil {
		return nil, err
	}
	if g, err = fixedPoint(g, o, r, d); err != nil {
		return nil, err
	}
	if err := handOver(g, o.Ties); err != nil {
		return nil, err
	}
	if o.native4D() && own && o.Precision != "float32" {
		r.Whole = g.Clone()
		if g, restore, err = fourD(g, r, d, true); err != nil {
			return nil, err
		}
	}
	var restoring map[*ir.Node]bool
	if restore != nil {
		if restoring, err = appendOutputReconstruction(g, restore); err != nil {
			return nil, err
		}
	}
	if err := ownOutputs(g); err != nil {
		return nil, err
	}
	if o.Accel != nil {
		if err := r.offload(g, o.Accel, restoring); err != nil {
			return nil, err
		}
		if err := d.stage("segments", g); err != nil {
			return nil, err
		}
	}
	if single != nil && o.Precision == "float32" {
		if err := single.Border(g, o.Quant.Ties); err != nil {
			return nil, err
		}
	}
	table, err := o.table()
	if err != nil {
		return nil, err
	}
	if err := r.floatFallback(g, table, o); err != nil {
		return nil, err
	}
	if o.Accel == nil {
		most := 32.0 // what a curve and the nodes may miss together: more is a jump
		if own {     // its results are defined
			most = 1
		}
		if r.curves, err = fuse.Curves(g, most); err != nil {
			return nil, err
		}
		if err := d.stage("curves", g); err != nil {
			return nil, err
		}
	}
	r.Reference = g.Clone()
	if r.Whole == nil {
		r.Whole = r.Reference
	}
	r.Precision, r.Layers = precisionOf(g)
	if o.DeadChannels && o.Accel == nil {
		if r.Pruned, err = prune.Run(g); err != nil {
			return nil, err
		}
		if err := ownOutputs(g); err != nil { // of outputs that turned out constant
			return nil, err
		}
		if err := d.stage("dead-channels", g); err != nil {
			return nil, err
		}
	}
	if o.Accel == nil {
		if err := r.align(g, table, o, spelt, d); err != nil {
			return nil, err
		}
	}
	var spare *ir.Graph
	if o.MaxRAM > 0 && o.Accel == nil {
		spare = g.Clone()
	}
	r.Ties = slices.Clone(o.Ties)
	if o.Stream != nil {
		if g, err = r.stream(g, *o.Stream, d); err != nil {
			return nil, err
		}
		if spare != nil {
			spare = g.Clone()
		}
	}
	if err := r.finish(g, table, o, d); err != nil {
		return nil, err
	}
	if spare != nil {
		if err := r.fit(spare, table, o, d); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// finish takes the graph that will run to kernel calls.
func (r *Result) finish(g *ir.Graph, table kernel.Table, o Options, d *dumper) error {
	r.Fusions = slices.Clone(r.curves)
	if o.Fuse && o.Accel == nil {
		more, err := fused(g, table, o)
		if err != nil {
			return err
		}
		r.Fusions = append(r.Fusions, more...)
		if err := d.stage("fuse", g); err != nil {
			return err
		}
	}
	r.Graph = g
	if err := r.kernels(g, table, o, d); err != nil {
		return err
	}
	var err error
	r.States, err = r.states(r.Ties)
	return err
}

// dumper numbers the stages.
type dumper struct {
	dump func(name string, g *ir.Graph) error
	n    int
}

func (d *dumper) stage(name string, g *ir.Graph) error {
	d.n++
	if errs := g.Verify(); len(errs) > 0 {
		return &pass.Bug{Pass: name, Msg: "left an invalid graph: " + errs[0].Error(), Before: g}
	}
	if d.dump == nil {
		return nil
	}
	return d.dump(fmt.Sprintf("%02d-%s", d.n-1, name), g)
}

// Legalise runs the float pipeline on g.
func Legalise(g *ir.Graph, o Options, r *Result, d *dumper) error {
	if d == nil {
		d = &dumper{dump: o.Dump}
	}
	m := &pass.Manager{Passes: FloatPasses(o.Legalize)}
	m.Dump = func(step int, p *pass.Pass, g *ir.Graph) error {
		if p == nil {
			return nil
		}
		return d.stage(p.Name, g)
	}
	c := &pass.Ctx{}
	if err := m.Run(c, g); err != nil {
		return err
	}
	r.Rewrites = c.Rewrites
	r.Legal = g.Clone()
	return nil
}

func fixedPoint(g *ir.Graph, o Options, r *Result, d *dumper) (*ir.Graph, error) {
	own := Quantised(g)
	r.Precision = "int8"
	if o.Precision == "float32" {
		r.Precision = "float32"
		if own {
			if err := quant.MovesOnReals(g); err != nil {
				return nil, err
			}
			if err := foldDequantize(g); err != nil {
				return nil, err
			}
		}
		return g, d.stage("float32", g)
	}
	if !own {
		var err error
		if g, err = r.calibrate(g, o); err != nil {
			return nil, err
		}
		fidelity.Mark(g)
	}
	r.QDQ = g.Clone()
	if !own {
		r.Model = r.QDQ
	}
	if err := d.stage("qdq", g); err != nil {
		return nil, err
	}
	if err := quant.Integer(g, quant.IntegerOptions{FloatIO: o.FloatIO, Imported: own}); err != nil {
		return nil, err
	}
	r.Precision, _ = precisionOf(g)
	r.floatNodes(g)
	return g, d.stage("integer", g)
}

// floatNodes warns of what an integer program computes in float.
func (r *Result) floatNodes(g *ir.Graph) {
	var names []string
	for _, n := range g.Nodes {
		if len(n.Out) == 0 || !n.Out[0].Type.DType.IsFloat() || n.Op == op.DequantizeLinear || n.Op.Quant == ir.QMove || n.Quantised() {
			continue
		}
		if n.Out[0].Type.DType == tensor.BF16 || n.In[0] != nil && n.In[0].Type.DType == tensor.BF16 {
			continue // the accelerator's own format
		}
		names = append(names, n.String())
	}
	if k := len(names); k > 0 {
		more := ""
		if k > 4 {
			names, more = names[:4], ", ..."
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d nodes are computed in float, without an integer form: %s%s", k, strings.Join(names, ", "), more))
	}
}

// foldDequantize makes float constants of quantised ones, for float32.
func foldDequantize(g *ir.Graph) error {
	for _, n := range append([]*ir.Node(nil), g.Nodes...) {
		if n.Op != op.DequantizeLinear || n.In[0].Const == nil {
			continue
		}
		in := make([]*tensor.Dense, len(n.In))
		for i, v := range n.In {
			if v != nil {
				in[i] = v.Const
			}
		}
		out, err := ir.EvalNode(n, in)
		if err != nil {
			return err
		}
		g.ReplaceUses(n.Out[0], g.AddConst(n.Out[0].Name, out[0]))
		g.Remove(n)
	}
	return nil
}

// ownOutputs gives every output a value of its own that a node computes: a
// constant, an input or one value under two names is copied.
func ownOutputs(g *ir.Graph) error {
	seen := map[*ir.Value]bool{}
	for i, v := range g.Out {
		root := v
		for root.Def != nil && root.Def.Op.View.Whole() {
			root = root.Def.In[0]
		}
		if root.Def != nil && !seen[root] {
			seen[root] = true
			continue
		}
		n, err := g.InsertBefore(nil, op.Identity, g.OutNames[i]+".copy", nil, 1, v)
		if err != nil {
			return err
		}
		n.Out[0].Type = v.Type
		g.SetOutput(i, n.Out[0])
	}
	return nil
}

// table is the kernels to choose from.
func (o *Options) table() (kernel.Table, error) {
	table, err := Table(o.Libraries, o.Target)
	if err == nil && o.Accel != nil {
		table[op.Segment] = []*kernel.Kernel{segmentKernel(o.Accel)}
	}
	return table, err
}

// kernels chooses a kernel for every node, gives values their memory orders
// and makes the calls. Errors of all nodes are collected.
func (r *Result) kernels(g *ir.Graph, table kernel.Table, o Options, d *dumper) error {
	choices := map[*ir.Node]kernel.Choice{}
	var errs Errors
	choose := func(n *ir.Node) kernel.Choice {
		c, ok := choices[n]
		if !ok {
			var err error
			if c, err = table.Choose(n, &o.Target); err != nil {
				errs = append(errs, err)
				c.Kernel = unsupported
			}
			choices[n] = c
		}
		return c
	}
	for _, n := range g.Nodes {
		choose(n)
	}
	if len(errs) > 0 {
		return &Unplaced{Errors: errs, Graph: g, Choices: choices, Refused: r.Refused, Precision: r.Precision}
	}
	rules := func(n *ir.Node) kernel.Layout {
		k := choose(n).Kernel
		if k.Layout == nil {
			return kernel.Layout{Kind: kernel.Natural}
		}
		return k.Layout(n)
	}
	if err := layout.Assign(g, rules, layout.Options{NativeIO: o.NativeIO, Inner: r.inner(g)}); err != nil {
		return err
	}
	if err := d.stage("layout", g); err != nil {
		return err
	}
	return r.lowered(g, table, &o, choose)
}

// floatFallback takes quantised nodes that no kernel computes on integers back
// to float, when a kernel does them there.
func (r *Result) floatFallback(g *ir.Graph, table kernel.Table, o Options) error {
	for _, n := range append([]*ir.Node(nil), g.Nodes...) {
		if !n.Quantised() || n.Op.Quant == ir.QNone {
			continue
		}
		if _, err := table.Choose(n, &o.Target); err == nil {
			continue
		}
		name := n.String()
		trial := g.Clone()
		if !floatWorks(trial, n.ID, table, o) {
			continue // the reasons against the integer form are reported
		}
		m, err := quant.ToFloat(g, n)
		if err != nil {
			return err
		}
		if o.Accel != nil {
			r.inFloat(o.Accel, n, m)
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s has no integer kernel: it is computed in float between DequantizeLinear and QuantizeLinear", name))
	}
	return nil
}

// floatWorks tries the float form of a node on a copy of the graph.
func floatWorks(g *ir.Graph, id int, table kernel.Table, o Options) bool {
	for _, n := range g.Nodes {
		if n.ID != id {
			continue
		}
		m, err := quant.ToFloat(g, n)
		if err != nil {
			return false
		}
		_, err = table.Choose(m, &o.Target)
		return err == nil
	}
	return false
}

// unsupported stands for the kernel of a node that has none.
var unsupported = &kernel.Kernel{Name: "none", Library: "none"}

// Placed reports a choice that has a kernel.
func Placed(c kernel.Choice) bool { return c.Kernel != unsupported }

// Unplaced says which nodes of a graph no kernel takes (one error each), and
// what became of the others.
type Unplaced struct {
	Errors
	Graph     *ir.Graph
	Choices   map[*ir.Node]kernel.Choice // Kernel "none" where there is no kernel
	Refused   []Refusal
	Precision string
}

// Errors are all the nodes that could not be lowered.
type Errors []error

func (e Errors) Error() string {
	s := ""
	for i, x := range e {
		if i == 20 {
			return s + fmt.Sprintf("\nand %d more", len(e)-i)
		}
		if i > 0 {
			s += "\n"
		}
		s += x.Error()
	}
	return s
}

// Unwrap lets errors.As find the single ones.
func (e Errors) Unwrap() []error { return slices.Clone(e) }
