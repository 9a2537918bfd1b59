// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// sequences are the operators that make or take sequences, and those of optionals:
// an optional that holds a tensor is that tensor, an empty one is an input left out.
// Sequences that enter or leave a model, a subgraph or a function are refused.
var sequences = map[string]build.Rule{
	"SequenceEmpty": func(e *build.Node) []*ir.Value {
		e.Int("dtype", 1)
		return e.Give(nil)
	},
	"SequenceConstruct": func(e *build.Node) []*ir.Value {
		var s build.Sequence
		for i := range e.In {
			s = append(s, e.Need(i, -1))
		}
		return e.Give(s)
	},
	"SplitToSequence":    splitToSequence,
	"OptionalGetElement": func(e *build.Node) []*ir.Value { return []*ir.Value{e.Need(0, -1)} },
	"OptionalHasElement": func(e *build.Node) []*ir.Value {
		return []*ir.Value{e.Data(tensor.Scalar(e.Input(0) != nil))}
	},
}

// takers are the operators that take sequences; all others refuse them.
var takers = map[string]build.Rule{
	"Identity": func(e *build.Node) []*ir.Value {
		if s, ok := e.Seqs[0]; ok {
			e.OutSeq = &s
			return nil
		}
		return e.Plain()
	},
	"SequenceInsert": func(e *build.Node) []*ir.Value {
		s, v := sequence(e), e.Need(1, -1)
		at := position(e, 2, len(s), len(s), len(s))
		return e.Give(slices.Insert(slices.Clone(s), at, v))
	},
	"SequenceErase": func(e *build.Node) []*ir.Value {
		s := sequence(e)
		at := position(e, 1, len(s)-1, len(s)-1, len(s))
		return e.Give(slices.Delete(slices.Clone(s), at, at+1))
	},
	"SequenceAt": func(e *build.Node) []*ir.Value {
		s := sequence(e)
		return []*ir.Value{s[position(e, 1, 0, len(s)-1, len(s))]}
	},
	"SequenceLength": func(e *build.Node) []*ir.Value {
		return []*ir.Value{e.Data(tensor.Scalar(int64(len(sequence(e)))))}
	},
	"ConcatFromSequence": concatFromSequence,
}

// WantTensors refuses sequences in the inputs of operators for tensors.
func WantTensors(e *build.Node) {
	if e.Domain == "" && takers[e.Op] != nil {
		return
	}
	for i, name := range e.InNames {
		_, seq := e.Seqs[i]
		e.Want(!seq, "sequence", "input %d (%s) is a sequence of tensors; sequences are supported only between "+
			"SequenceConstruct, SequenceInsert, SplitToSequence and the like, whose results do not leave the graph", i,
			model.Quote(name))
	}
}

func sequence(e *build.Node) build.Sequence {
	s, ok := e.Seqs[0]
	e.Want(ok, "sequence", "input 0 is not a sequence")
	return s
}

// position is input i as a place from 0 to most in a sequence of n tensors,
// counted from the end when negative.
func position(e *build.Node, i, def, most, n int) int {
	at := def
	if e.Input(i) != nil {
		p := e.Known(i, "the position")
		e.Want(len(p) == 1, "shape", "the position (input %d) has %d elements, want one", i, len(p))
		if at = p[0]; at < 0 {
			at += n
		}
	}
	e.Want(at >= 0 && at <= most, "sequence", "position %d is out of range for a sequence of %d tensors", at, n)
	return at
}

func concatFromSequence(e *build.Node) []*ir.Value {
	s, stacked := sequence(e), e.Bool("new_axis", false)
	_, ok := e.Attrs["axis"]
	e.Want(ok, "attr-missing", "attribute axis is missing")
	axis, parts := e.Int("axis", 0), append([]*ir.Value(nil), s...)
	e.Want(len(s) > 0, "sequence", "the sequence in input 0 is empty: the shape of the result is unknown")
	if stacked {
		rank := s[0].Type.Rank() + 1
		e.Want(axis >= -rank && axis < rank, "axis", "axis %d is out of range for rank %d", axis, rank)
		for i, v := range parts {
			parts[i] = e.Do("Unsqueeze", nil, v, e.Ints((axis+rank)%rank))
		}
	}
	return []*ir.Value{e.Concat(axis, parts...)}
}

// splitToSequence cuts along an axis: into parts of one, of a given size (the
// last one may be smaller), or of given sizes.
func splitToSequence(e *build.Node) []*ir.Value {
	x, axis, keep := e.Need(0, -1), e.Int("axis", 0), e.Bool("keepdims", true)
	rank := x.Type.Rank()
	e.Want(axis >= -rank && axis < rank, "axis", "axis %d is out of range for rank %d", axis, rank)
	axis = (axis + rank) % rank
	n := x.Type.Shape[axis]
	sizes := []int{1}
	each := true
	if e.Input(1) != nil {
		sizes, each, keep = e.Known(1, "split"), e.In[1].Type.Rank() == 0, true
	}
	if each {
		size := sizes[0]
		e.Want(size > 0, "split", "split is %d, want a positive size", size)
		e.Want(n/size < build.MaxSequences, "sequence", "a sequence of %d tensors, more than %d", n/size,
			build.MaxSequences)
		sizes = nil
		for at := 0; at < n; at += size {
			sizes = append(sizes, min(size, n-at))
		}
	}
	var s build.Sequence
	at := 0
	for _, size := range sizes {
		e.Want(size >= 0 && size <= n-at, "split", "split %v does not fit dimension %d of %s, which is %d", sizes, axis,
			x, n)
		part := e.Cut(x, axis, at, at+size, 1)
		if !keep {
			part = e.Do("Squeeze", nil, part, e.Ints(axis))
		}
		s, at = append(s, part), at+size
	}
	e.Want(at == n, "split", "split %v does not fit dimension %d of %s, which is %d", sizes, axis, x, n)
	return e.Give(s)
}
