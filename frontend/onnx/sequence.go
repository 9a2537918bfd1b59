package onnx

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// sequence is a list of tensors within a model, as exporters write for split
// and stack: its length and all positions must be known at compile time, so
// that nothing of it is left in the graph. Sequences that enter or leave a
// model, a subgraph or a function are refused.
type sequence []*ir.Value

// maxSequences bounds the lengths of all sequences of a model together: every
// operator on one makes another.
const maxSequences = 1 << 20

// sequenceOps are the operators that take sequences; all others refuse them.
var sequenceOps = map[string]bool{"Identity": true, "SequenceInsert": true, "SequenceErase": true, "SequenceAt": true, "SequenceLength": true, "ConcatFromSequence": true}

// sequenceExpansions are the operators that make or take sequences, and those
// of optionals: an optional that holds a tensor is that tensor, an empty one is
// an input left out.
func sequenceExpansions() map[string]func(e *composer) []*ir.Value {
	return map[string]func(e *composer) []*ir.Value{
		"SequenceEmpty": func(e *composer) []*ir.Value {
			e.int("dtype", 1)
			return e.give(nil)
		},
		"SequenceConstruct": func(e *composer) []*ir.Value {
			var s sequence
			for i := range e.in {
				s = append(s, e.need(i, -1))
			}
			return e.give(s)
		},
		"SequenceInsert": func(e *composer) []*ir.Value {
			s, v := e.sequence(0), e.need(1, -1)
			at := e.position(2, len(s), len(s), len(s))
			return e.give(append(append(append(sequence{}, s[:at]...), v), s[at:]...))
		},
		"SequenceErase": func(e *composer) []*ir.Value {
			s := e.sequence(0)
			at := e.position(1, len(s)-1, len(s)-1, len(s))
			return e.give(append(append(sequence{}, s[:at]...), s[at+1:]...))
		},
		"SequenceAt": func(e *composer) []*ir.Value {
			s := e.sequence(0)
			return []*ir.Value{s[e.position(1, 0, len(s)-1, len(s))]}
		},
		"SequenceLength": func(e *composer) []*ir.Value {
			return []*ir.Value{e.data(tensor.Scalar(int64(len(e.sequence(0)))))}
		},
		"ConcatFromSequence": concatFromSequence, "SplitToSequence": splitToSequence,
		"OptionalGetElement": func(e *composer) []*ir.Value { return []*ir.Value{e.need(0, -1)} },
		"OptionalHasElement": func(e *composer) []*ir.Value {
			return []*ir.Value{e.data(tensor.Scalar(e.input(0) != nil))}
		},
	}
}

// sequence is input i, which must be one.
func (e *composer) sequence(i int) sequence {
	s, ok := e.seqs[i]
	e.want(ok, "sequence", "input %d is not a sequence", i)
	return s
}

// give makes a sequence the node's first output.
func (e *composer) give(s sequence) []*ir.Value {
	e.im.sequenced += len(s)
	e.want(e.im.sequenced <= maxSequences, "sequence", "the sequences of the model hold more than %d tensors together", maxSequences)
	e.outSeq = &s
	return nil
}

// position is input i as a place from 0 to most in a sequence of n tensors,
// counted from the end when negative.
func (e *composer) position(i, def, most, n int) int {
	at := def
	if e.input(i) != nil {
		p := e.known(i, "the position")
		e.want(len(p) == 1, "shape", "the position (input %d) has %d elements, want one", i, len(p))
		if at = p[0]; at < 0 {
			at += n
		}
	}
	e.want(at >= 0 && at <= most, "sequence", "position %d is out of range for a sequence of %d tensors", at, n)
	return at
}

func concatFromSequence(e *composer) []*ir.Value {
	s, stacked := e.sequence(0), e.int("new_axis", 0) != 0
	a, ok := e.take("axis")
	e.want(ok, "attr-missing", "attribute axis is missing")
	e.fail(e.kind("axis", a, ir.AttrInt, "an integer"))
	e.want(len(s) > 0, "sequence", "the sequence in input 0 is empty: the shape of the result is unknown")
	axis, parts := a.Int, append([]*ir.Value(nil), s...)
	if stacked {
		rank := int64(s[0].Type.Rank() + 1)
		e.want(axis >= -rank && axis < rank, "axis", "axis %d is out of range for rank %d", axis, rank)
		for i, v := range parts {
			parts[i] = e.do("Unsqueeze", nil, v, e.ints(int((axis+rank)%rank)))
		}
	}
	return []*ir.Value{e.do("Concat", ir.Attrs{"axis": {Kind: ir.AttrInt, Int: axis}}, parts...)}
}

// splitToSequence cuts along an axis: into parts of one, of a given size (the
// last one may be smaller), or of given sizes.
func splitToSequence(e *composer) []*ir.Value {
	x, axis, keep := e.need(0, -1), e.int("axis", 0), e.int("keepdims", 1) != 0
	rank := x.Type.Rank()
	e.want(axis >= -rank && axis < rank, "axis", "axis %d is out of range for rank %d", axis, rank)
	axis = (axis + rank) % rank
	n := x.Type.Shape[axis]
	sizes := []int{1}
	each := true
	if e.input(1) != nil {
		sizes, each, keep = e.known(1, "split"), e.in[1].Type.Rank() == 0, true
	}
	if each {
		size := sizes[0]
		e.want(size > 0, "split", "split is %d, want a positive size", size)
		e.want(n/size < maxSequences, "sequence", "a sequence of %d tensors, more than %d", n/size, maxSequences)
		sizes = nil
		for at := 0; at < n; at += size {
			sizes = append(sizes, min(size, n-at))
		}
	}
	var s sequence
	at := 0
	for _, size := range sizes {
		e.want(size >= 0 && size <= n-at, "split", "split %v does not fit dimension %d of %s, which is %d", sizes, axis, x, n)
		part := e.cut(x, axis, at, at+size, 1)
		if !keep {
			part = e.do("Squeeze", nil, part, e.ints(axis))
		}
		s, at = append(s, part), at+size
	}
	e.want(at == n, "split", "split %v does not fit dimension %d of %s, which is %d", sizes, axis, x, n)
	return e.give(s)
}

// takesSequences refuses sequences in the inputs of operators for tensors.
func (c *nodeCtx) takesSequences() error {
	if len(c.seqs) == 0 || domain(c.p.GetDomain()) == "" && sequenceOps[c.p.GetOpType()] {
		return nil
	}
	for i, name := range c.p.GetInput() {
		if _, ok := c.seqs[i]; ok {
			return c.errf("sequence", "input %d (%s) is a sequence of tensors; sequences are supported only between %s", i, quote(name),
				"SequenceConstruct, SequenceInsert, SplitToSequence and the like, whose results do not leave the graph")
		}
	}
	return nil
}

// identity hands a sequence on; of a tensor it is a node as any other.
func identity(c *nodeCtx) ([]*ir.Value, error) {
	if s, ok := c.seqs[0]; ok {
		c.outSeq = &s
		return nil, nil
	}
	return c.plain()
}

// sequenceRead is the error of reading a name that stands for a sequence:
// nodes take the sequence from it, everything else wants tensors.
type sequenceRead struct {
	*ir.Diag
	seq sequence
}

func (s sequenceRead) Unwrap() error { return s.Diag }

func newSequenceRead(name string, s sequence) error {
	return sequenceRead{&ir.Diag{Code: "sequence", Node: "value " + quote(name), Msg: "is a sequence of tensors, which cannot leave a graph; want tensors", Hint: "join them by ConcatFromSequence"}, s}
}
