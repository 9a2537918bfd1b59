// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// TfIdfVectorizerAttrs are the attributes of TfIdfVectorizer.
type TfIdfVectorizerAttrs struct {
	MaxGramLength int    `attr:",required"`
	MaxSkipCount  int    `attr:",required"`
	MinGramLength int    `attr:",required"`
	Mode          string `attr:",required"`
	NgramCounts   []int  `attr:",required"`
	NgramIndexes  []int  `attr:",required"`
	PoolInt64s    []int
	PoolStrings   []string
	Weights       []float32
}

// TfIdfVectorizer counts the n-grams of a pool in sequences of integers, [C] or
// [N, C]: mode TF gives the counts, IDF the weights of those that occur, TFIDF
// their product.
var TfIdfVectorizer = def(ir.OpDef{
	Name: "TfIdfVectorizer", Doc: "counts of n-grams of a pool, weighted",
	Attrs: ir.Declare[TfIdfVectorizerAttrs](),
	MinIn: 1, Quant: ir.QNone, Pattern: ir.Opaque,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(NGrams(n))
		x := n.In[0].Type
		refuse(n, (x.Rank() != 1 && x.Rank() != 2) || x.DType != tensor.I32 && x.DType != tensor.I64, "shape",
			"input 0 (%s) is %s, want int32 or int64 of shape [C] or [N, C]", n.In[0], x)
		return one(ir.T(tensor.F32, append(append([]int(nil), x.Shape[:x.Rank()-1]...), g.Size)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(NGrams(n))
		x := in[0]
		c := x.Shape[len(x.Shape)-1]
		ids := x.Int64s()
		rows := product(x.Shape[:len(x.Shape)-1])
		y := make([]float64, rows*g.Size)
		for r := range rows {
			row := ids[r*c : (r+1)*c]
			for _, gram := range g.Grams {
				y[r*g.Size+gram.Index] += float64(g.count(row, gram))
			}
		}
		for i, v := range y {
			y[i] = g.weighted(ir.AttrsOf[ModeAttr](n).Mode, i%g.Size, v)
		}
		return outs(tensor.FromFloats(tensor.F32, append(append([]int(nil), x.Shape[:len(x.Shape)-1]...), g.Size), y))
	},
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(NGrams(n))
		return int64(n.In[0].Type.Elems()) * int64(len(g.Grams)) * int64(g.Skips+1)
	},
})

// NGram is one entry of the pool and the place of its count.
type NGram struct {
	IDs   []int64
	Index int
}

// NGramTable is the pool of a TfIdfVectorizer: those n-grams that are counted.
type NGramTable struct {
	Grams  []NGram
	Size   int // of the result
	Skips  int // most elements left out between two of an n-gram
	Weight []float32
}

// maxGrams bounds the result, whose size is an attribute's value.
const maxGrams = 1 << 24

// NGrams reads the attributes of a TfIdfVectorizer.
func NGrams(n *ir.Node) (_ *NGramTable, err error) {
	defer fail.Catch(&err)
	attrs := ir.AttrsOf[TfIdfVectorizerAttrs](n)
	lo, hi, skips := attrs.MinGramLength, attrs.MaxGramLength, attrs.MaxSkipCount
	starts, index, pool := attrs.NgramCounts, attrs.NgramIndexes, attrs.PoolInt64s
	refuse(n, len(attrs.PoolStrings) > 0, "dtype",
		"pool_strings holds text, want pool_int64s: text has no place in firmware that computes with numbers")
	refuse(n, lo < 1 || hi < lo || hi > len(starts) || skips < 0 || skips > 1<<20, "attr-value",
		"min_gram_length %d, max_gram_length %d, max_skip_count %d with %d ngram_counts: out of range", lo, hi, skips,
		len(starts))
	wantWord(n, "mode", ir.AttrsOf[ModeAttr](n).Mode, "TF", "IDF", "TFIDF")
	t := &NGramTable{Skips: skips, Weight: attrs.Weights}
	for _, i := range index {
		refuse(n, i < 0 || i >= maxGrams, "attr-value", "ngram_indexes holds %d, want 0 to %d", i, maxGrams-1)
		t.Size = max(t.Size, i+1)
	}
	k := 0
	for size := 1; size <= len(starts); size++ {
		end := len(pool)
		if size < len(starts) {
			end = starts[size]
		}
		at := starts[size-1]
		refuse(n, at < 0 || at > end || end > len(pool) || (end-at)%size != 0, "attr-value",
			"ngram_counts %v do not divide the pool of %d into n-grams", starts, len(pool))
		for ; at < end; at, k = at+size, k+1 {
			refuse(n, k >= len(index), "attr-value", "the pool has more n-grams than the %d ngram_indexes", len(index))
			if size >= lo && size <= hi {
				t.Grams = append(t.Grams, NGram{to64s(pool[at : at+size]), index[k]})
			}
		}
	}
	refuse(n, t.Weight != nil && len(t.Weight) < t.Size, "attr-value", "%d weights for %d places", len(t.Weight),
		t.Size)
	return t, nil
}

func to64s(v []int) []int64 {
	return lists.Each(v, func(x int) int64 { return int64(x) })
}

// count is how often an n-gram occurs in a row, with all gaps allowed; single
// elements have none.
func (t *NGramTable) count(row []int64, g NGram) int {
	skips, found := t.Skips, 0
	if len(g.IDs) == 1 {
		skips = 0
	}
	for gap := 1; gap <= skips+1; gap++ {
		for at := 0; at+(len(g.IDs)-1)*gap < len(row); at++ {
			same := true
			for k, id := range g.IDs {
				same = same && row[at+k*gap] == id
			}
			if same {
				found++
			}
		}
	}
	return found
}

func (t *NGramTable) weighted(mode string, i int, count float64) float64 {
	w := 1.0
	if t.Weight != nil {
		w = float64(t.Weight[i])
	}
	switch {
	case mode == "TF":
		return count
	case mode == "TFIDF":
		return count * w
	case count > 0:
		return w
	}
	return 0
}
