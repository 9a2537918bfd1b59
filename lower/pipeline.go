// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/signal"
	"github.com/nncc/nncc/lower/state"
)

// Table is the pipeline: every stage from import to the plan of the arena, in
// order. Nothing else orders stages; a row applies where its conditions hold.
var Table = slices.Concat(importRows, floatRows, quantisationRows, programRows, speedRows, kernelRows)

var importRows = []*Stage{
	{
		Name: "import", Doc: "the model as it was read, with float borders where they are asked for",
		Required: "it is where everything begins",
		Run:      (*State).floatBorders,
	},
	{
		Name: "single", Doc: "float16, bfloat16 and double become float32, between casts where bits are read",
		Numerics: pass.Lossy, LeastSQNR: 20,
		When:        []Condition{otherFloat},
		Establishes: []*Invariant{oneFloat},
		Required:    "kernels, calibration and accelerators know one float type (--precision model keeps all types)",
		Run:         (*State).toSingle,
	},
	{
		Name: "mark", Doc: "the model's quantised tensors are marked, so that verify finds them in the program",
		Requires: []*Invariant{oneFloat}, Establishes: []*Invariant{modelKept, realIO},
		Required: "verify compares the program with the model that is kept here",
		Run:      (*State).mark,
	},
}

// floatRows are the float passes. An accelerator on 4-D tensors has those of
// them that its own legalisation builds on.
var floatRows = []*Stage{
	floatPass("einsum", ""),
	floatPass("const-fold", ""),
	floatPass("cleanup", ""),
	floatPass("patterns", "", legalize),
	floatPass("conv3d", "", legalize, ownRanks),
	floatPass("transpose", "", legalize),
	{
		Name: "static-scales", Doc: "layers quantised at run time get the fixed scales that calibration finds",
		Numerics: pass.Lossy, LeastSQNR: 20,
		When:  []Condition{calibrated, fixedPoint, floatModel},
		After: []Order{{"cleanup", "it reads weights and zero points as constants"}},
		Run:   (*State).staticScales,
	},
	floatPass("integer-mac", "", ownRanks),
	floatPass("decompose", ""),
	floatPass("gemm-computed", "", legalize, fixedPoint),
	floatPass("product-parts", "", legalize),
	floatPass("bn-fold", "", legalize),
	floatPass("bn-linear", "", legalize),
	floatPass("factors", "", legalize, fixedPoint, ownRanks),
	floatPass("conv1d", ""),
	floatPass("cleanup", "cleanup-2"),
	floatPass("channel-conv", "", legalize, ownRanks),
	floatPass("absorb", "", legalize, ownRanks),
	floatPass("dead-taps", "", legalize),
	floatPass("flatten-order", "", legalize, ownRanks),
	floatPass("pixel-shuffle", "", legalize, ownRanks),
	{
		Name: "4d",
		Doc: "four dimensions for every value, where possible; what rebuilds the outputs becomes a graph of " +
			"its own",
		Numerics: pass.Reassoc,
		When:     []Condition{native4D, floatModel},
		After: []Order{
			{"cleanup-2", "it reads one form of every operator, without dead code"},
			{"bn-linear", "it has no 4-D form of BatchNormalization"},
		},
		Requires: []*Invariant{modelKept},
		Required: "the accelerator computes on tensors of four dimensions (--legalize off does without)",
		Run:      func(s *State) { s.fourD(false) },
	},
	floatPass("absorb", "absorb-4d", native4D, floatModel),
	floatPass("cleanup", "cleanup-4d", native4D, floatModel),
}

var quantisationRows = []*Stage{
	{
		Name: "dequantize", Doc: "a quantised model on real numbers",
		Numerics: pass.Reassoc,
		When:     []Condition{floatProgram, quantisedModel},
		After:    []Order{{"cleanup-2", "constants behind DequantizeLinear have been folded where they could be"}},
		Required: "--precision float32 computes on real numbers",
		Run:      (*State).dequantize,
	},
	{
		Name: signal.Pass.Name, Doc: signal.Pass.Doc, Numerics: signal.Pass.Numerics,
		When: []Condition{noAccelerator},
		After: []Order{
			{"decompose", "it reads one form of matrix products"},
			{"dequantize", "the matrices are real numbers"},
		},
		Run: func(s *State) { fail.Check(signal.Pass.Apply(s.ctx, s.Graph)) },
	},
	{
		Name: "input-scales",
		Doc: "inputs and outputs of mixed units: what makes their channels alike stands beside them, for a scale " +
			"and zero point of each channel",
		Numerics: pass.Reassoc,
		When:     []Condition{fixedPoint, floatModel},
		Requires: []*Invariant{modelKept, oneFloat},
		After: []Order{
			{"bn-linear", "weights have taken up what they can"},
			{"absorb", "padding stands where it stays"},
		},
		Run: (*State).scaleInputs,
	},
	{
		Name:     "calibrate",
		Doc:      "QuantizeLinear and DequantizeLinear by calibration data; bfloat16 where int8 is not enough",
		Numerics: pass.Lossy, LeastSQNR: 3,
		When:     []Condition{fixedPoint, floatModel},
		Requires: []*Invariant{modelKept, oneFloat},
		After: []Order{
			{"bn-fold", "weights and biases are final when they are quantised"},
			{"absorb-4d", "activations stand where kernels clamp"},
		},
		Required: "the program computes on integers (--precision float32 does without)",
		Run:      (*State).quantize,
	},
	{
		Name: "integer", Doc: "arithmetic on integers instead of real numbers between QuantizeLinear and " +
			"DequantizeLinear",
		Numerics: pass.Lossy, LeastSQNR: 6, // roundings add up over layers where the signal is low
		When:     []Condition{fixedPoint},
		Requires: []*Invariant{modelKept},
		After:    []Order{{"calibrate", "it reads the quantisation"}},
		Required: "the program computes on integers (--precision float32 does without)",
		Run:      (*State).integer,
	},
	{
		Name: signal.Fixed.Name, Doc: signal.Fixed.Doc, Numerics: signal.Fixed.Numerics, LeastSQNR: 40,
		When:  []Condition{softFloat, fixedPoint},
		After: []Order{{"integer", "it reads the types of signals"}},
		Run:   func(s *State) { fail.Check(signal.Fixed.Apply(s.ctx, s.Graph)) },
	},
	{
		Name: "requantize-state", Doc: "outputs that are recurrent state get the types of the inputs that take them",
		Numerics: pass.Lossy, LeastSQNR: 10,
		When:        []Condition{recurrent},
		Establishes: []*Invariant{stateIO},
		After:       []Order{{"integer", "types are final"}},
		Required:    "state is handed on without a conversion",
		Run:         func(s *State) { fail.Check(state.Requantize(s.Graph, s.StateBindings)) },
	},
	{
		Name: "4d-integer", Doc: "as 4d, on integers: no number changes",
		When:     []Condition{native4D, quantisedModel, fixedPoint},
		After:    []Order{{"integer", "it has to know weights and scales"}},
		Required: "the accelerator computes on tensors of four dimensions (--legalize off does without)",
		Run:      (*State).fourDInteger,
	},
	{
		Name: "restore-outputs", Doc: "the nodes that rebuild the model's outputs stand behind the graph again",
		When:        []Condition{native4D},
		Requires:    []*Invariant{modelKept},
		Establishes: []*Invariant{realIO},
		After:       []Order{{"4d", "it splits them off"}, {"4d-integer", "it splits them off"}},
		Required:    "the program has the model's outputs",
		Run:         (*State).restoreOutputs,
	},
}

var programRows = []*Stage{
	floatPass("cleanup", "cleanup-integer", fixedPoint),
	floatPass("absorb", "absorb-integer", legalize, fixedPoint),
	floatPass("product-parts", "product-parts-integer", legalize, fixedPoint),
	{
		Name: "own-outputs", Doc: "outputs that are constants, inputs or one value twice are copied",
		Requires:    []*Invariant{realIO},
		Establishes: []*Invariant{ownValues},
		Required:    "every output has bytes of its own in the arena",
		Run:         func(s *State) { fail.Check(op.OwnOutputs(s.Graph)) },
	},
	{
		Name: "segments", Doc: "what the accelerator takes becomes as few segments as possible",
		When:     []Condition{accelerator},
		After:    []Order{{"integer", "it looks at types"}, {"restore-outputs", "what rebuilds outputs stays outside"}},
		Required: "the accelerator runs segments (another board does without)",
		Run:      (*State).segment,
	},
	{
		Name: "model-types", Doc: "inputs and outputs of a float program have the model's float types again, with " +
			"casts",
		Numerics: pass.Lossy, LeastSQNR: 20,
		When:     []Condition{otherFloat, floatProgram},
		After:    []Order{{"single", "it knows what they were"}},
		Required: "stored data of the model fit the program",
		Run:      (*State).modelTypes,
	},
	{
		Name: "averages", Doc: "int8 averages that count padding or change the scale become depthwise convolutions",
		Numerics: pass.Lossy, LeastSQNR: 10,
		When: []Condition{fixedPoint, noAccelerator},
		Run:  func(s *State) { quant.Averages(s.ctx, s.Graph) },
	},
	{
		Name:     "float-fallback",
		Doc:      "quantised nodes without a kernel on integers are computed in float, where there is one",
		Numerics: pass.Lossy, LeastSQNR: 10,
		When:  []Condition{fixedPoint},
		After: []Order{{"segments", "what the accelerator takes needs no kernel"}},
		Run:   (*State).floatFallback,
	},
	{
		Name: "curves", Doc: "functions of int16 values in a row become one interpolated table",
		Numerics: pass.Lossy, LeastSQNR: 10,
		When: []Condition{noAccelerator},
		Run:  (*State).joinCurves,
	},
	{
		Name: "reference", Doc: "a copy is kept: from here on every stage keeps every bit on integers",
		Establishes: []*Invariant{referenceKept},
		After: []Order{
			{"averages", "it changes results"},
			{"curves", "it changes results"},
			{"float-fallback", "it changes results"},
		},
		Required: "verify compares the firmware with this copy",
		Run:      (*State).keepReference,
	},
}

var speedRows = []*Stage{
	{
		Name: "turned", Doc: "transposed convolutions of stride 1 on integers become convolutions",
		When:     []Condition{fixedPoint, noAccelerator},
		Requires: []*Invariant{referenceKept},
		Run:      func(s *State) { quant.Turned(s.ctx, s.Graph) },
	},
	{
		Name: "dead-channels", Doc: "channels that are constant for every input, or that nobody reads, are removed",
		When:        []Condition{deadChannels},
		Requires:    []*Invariant{referenceKept},
		After:       []Order{{"turned", "it knows convolutions better"}},
		Establishes: []*Invariant{ownValues},
		Run:         (*State).removeDeadChannels,
	},
	{
		Name:     "align",
		Doc:      "channels padded to multiples that kernels like, where that pays or (--align always) where possible",
		Numerics: pass.Reassoc,
		When:     []Condition{noAccelerator},
		Requires: []*Invariant{referenceKept},
		After:    []Order{{"dead-channels", "it would take padding away"}},
		Run:      (*State).alignChannels,
	},
	{
		Name: "stream", Doc: "the graph that is fed a few frames at a time; what it remembers becomes state",
		When:        []Condition{streaming},
		Requires:    []*Invariant{referenceKept},
		Establishes: []*Invariant{ownValues, stateIO},
		After:       []Order{{"align", "channels are final"}},
		Required:    "--stream asks for it",
		Run:         (*State).toStream,
	},
	{
		Name:     "stripes",
		Doc:      "layers a few rows at a time, so that large feature maps are never in memory as a whole",
		When:     []Condition{tiled},
		Requires: []*Invariant{referenceKept},
		After:    []Order{{"stream", "a stream has no large feature maps"}},
		Required: "the search for a smaller arena chooses it",
		Run:      (*State).applyTiles,
	},
	{
		Name: "fuse-tables", Doc: "functions of one value in a row become one table",
		When:     []Condition{fusing},
		Requires: []*Invariant{referenceKept},
		After:    []Order{{"stripes", "rows are made of single layers"}},
		Run:      (*State).fuseTables,
	},
	{
		Name: "fuse-kernels", Doc: "what a kernel computes in its store loop joins the node that it follows",
		When:     []Condition{fusing},
		Requires: []*Invariant{referenceKept},
		After:    []Order{{"fuse-tables", "a store loop takes one table"}},
		Run:      (*State).fuseKernels,
	},
	{
		Name: "fuse-loops", Doc: "element-wise operators that remain become one loop, where that pays",
		When:     []Condition{fusing},
		Requires: []*Invariant{referenceKept},
		After:    []Order{{"fuse-kernels", "a store loop is cheaper than a loop of its own"}},
		Run:      (*State).fuseLoops,
	},
}

var kernelRows = []*Stage{
	{
		Name: "kernels", Doc: "the best kernel of every node, with the reasons against better ones",
		Requires:    []*Invariant{referenceKept},
		Establishes: []*Invariant{placed},
		After:       []Order{{"fuse-loops", "nodes are final"}},
		Required:    "memory orders and calls follow from the kernels",
		Run:         (*State).chooseKernels,
	},
	{
		Name: "layout", Doc: "memory orders of all values, with copies where kernels demand different ones",
		Requires:    []*Invariant{placed},
		Establishes: []*Invariant{placed, memoryOrders},
		Required:    "kernels read operands in the order that they demand",
		Run:         (*State).assignOrders,
	},
	{
		Name: "lowering",
		Doc: "calls of kernels: the fastest candidate of every node, or what --optimize makes of speed and " +
			"size",
		Requires:    []*Invariant{placed, memoryOrders},
		Establishes: []*Invariant{called},
		Required:    "a program is made of calls",
		Run:         (*State).lowerNodes,
	},
	{
		Name: "schedule", Doc: "the order of the steps, and the place of every value in the arena",
		Requires:    []*Invariant{ownValues, called},
		Establishes: []*Invariant{planned},
		Required:    "it is what everything ends in",
		Run:         (*State).schedule,
	},
	{
		Name: FetchStage,
		Doc: "constants that make the core wait and are read many times are copied before their step, or before " +
			"calls for some output channels each, to where the arena has room",
		When:     []Condition{fastest, slowConstants, noAccelerator},
		Requires: []*Invariant{planned},
		Run:      (*State).fetch,
	},
}

// floatPass is a row for a pass of lower/legal: under another name where the
// pass stands in the table more than once.
func floatPass(pass, name string, when ...Condition) *Stage {
	p := legal.Find(pass)
	if name == "" {
		name = pass
	}
	return &Stage{Name: name, Pass: p.Name, Doc: p.Doc, Numerics: p.Numerics, When: when, Required: p.Required,
		Run: func(s *State) { fail.Check(p.Apply(s.ctx, s.Graph)) }}
}

// between are the rows from the one called from up to the one called until.
func between(from, until string) []*Stage {
	at := func(name string) int {
		return slices.IndexFunc(Table, func(t *Stage) bool { return t.Name == name })
	}
	return Table[at(from) : at(until)+1]
}

// FloatPasses are the passes that lower/legal runs on a float model, in order.
func FloatPasses(legalize bool) []pass.Pass {
	return lists.Filter(legal.Passes, func(p pass.Pass) bool { return legalize || p.Required != "" })
}

func (s *State) floatBorders() {
	if !s.facts.FloatIO || s.facts.OwnIO {
		return
	}
	at := fail.Must(state.Indices(s.Graph, s.StateBindings))
	fail.Check(quant.FloatBorders(quant.IntegerOptions{FloatIO: true, State: at}, s.Graph))
}

func (s *State) mark() {
	s.hardcodedReshapes = hardcodedReshapes(s.Graph)
	fidelity.Mark(s.Graph)
	s.Model = s.Graph.Clone()
	for i, v := range s.Graph.Out {
		s.outputs = append(s.outputs, output{s.Graph.OutNames[i], v.Type.Elems()})
	}
}

func (s *State) keepReference() {
	s.Reference = s.Graph.Clone()
	if s.Whole == nil {
		s.Whole = s.Reference
	}
	s.Precision, s.Layers = precisionOf(s.Graph)
}

// fourD legalises the graph for an accelerator: every value 4-D where that is
// possible. The graph gets native outputs; what rebuilds the model's is kept as
// the reconstruction.
func (s *State) fourD(integer bool) {
	res := fail.Must(legal4d.Run(s.Graph, legal4d.Options{AsIs: true, Integer: integer}))
	for _, l := range res.Left {
		s.warn("no-4d-form", l.Node, "%s %q stays without a 4-D form: %s", l.Op, l.Node, l.Reason)
	}
	s.ctx.Rewrites = append(s.ctx.Rewrites, res.Rewrites...)
	s.Graph, s.reconstruction = res.Native, res.Restore
}

// fourDInteger is fourD after quantisation, where weights and scales are known:
// it keeps every number.
func (s *State) fourDInteger() {
	s.Whole = s.Graph.Clone()
	s.fourD(true)
}

func (s *State) restoreOutputs() {
	if s.reconstruction == nil {
		return // on real numbers a quantised model keeps its ranks
	}
	s.boundary = fail.Must(legal4d.Rebuild(s.Graph, s.reconstruction))
	s.reconstruction = nil
}
