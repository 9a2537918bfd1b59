package mla

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the name by which a board file asks for this accelerator:
// `accelerators: [{name: mla0, kind: mla, params: {...}}]`.
const Kind = "mla"

// Limits are the parameters of one MLA. A board file sets them under `params`;
// what it leaves out has the value of Defaults.
type Limits struct {
	ConvStride   int // largest stride of Conv
	ConvDilation int // largest dilation of Conv
	ConvKernel   int // largest kernel height and width of Conv and ConvTranspose, 0: any
	PoolWindow   int // pool windows and reduced regions are smaller than this in each dimension
	// DeconvStrides are the strides that ConvTranspose may have, and
	// DepthwiseDeconvStrides those that a depthwise one may have.
	DeconvStrides          []int
	DepthwiseDeconvStrides []int
	SoftmaxLen             int // longest axis of Softmax
	MaxBatch               int // largest dimension 0 of any tensor, 0: any
	ChannelAlign           int // channels of Conv and ConvTranspose are multiples of this
	MemoryBytes            int // working memory of a segment, 0: any
	MinWork                int // MACs from which a segment of its own pays for its transfers
	BF16                   int // 1: it also computes in bfloat16
}

// Defaults are the limits of the facts that the rules stand on; what no source
// gives (alignment, memory, batch) is unlimited.
func Defaults() Limits {
	return Limits{ConvStride: 31, ConvDilation: 63, PoolWindow: 128, DeconvStrides: []int{1, 2, 4, 8, 16}, DepthwiseDeconvStrides: []int{1, 2},
		SoftmaxLen: 4095, ChannelAlign: 1}
}

// Param describes one key of a board's parameters.
type Param struct{ Name, Doc string }

// Params lists the keys that ParseLimits knows, for documentation.
func Params() []Param {
	var l Limits
	var out []Param
	for _, f := range l.fields() {
		out = append(out, Param{f.name, f.doc})
	}
	return out
}

// field ties a key of a board file to a place in Limits.
type field struct {
	name, doc string
	low       int
	one       *int
	list      *[]int
}

func (l *Limits) fields() []field {
	return []field{
		{name: "conv_stride", doc: "largest stride of Conv", low: 1, one: &l.ConvStride},
		{name: "conv_dilation", doc: "largest dilation of Conv", low: 1, one: &l.ConvDilation},
		{name: "conv_kernel", doc: "largest kernel side of Conv and ConvTranspose, 0: any", one: &l.ConvKernel},
		{name: "pool_window", doc: "pool windows and reduced regions are smaller than this", low: 2, one: &l.PoolWindow},
		{name: "deconv_strides", doc: "strides that ConvTranspose may have", low: 1, list: &l.DeconvStrides},
		{name: "depthwise_deconv_strides", doc: "strides that a depthwise ConvTranspose may have", low: 1, list: &l.DepthwiseDeconvStrides},
		{name: "softmax_len", doc: "longest axis of Softmax, at most 4095", low: 1, one: &l.SoftmaxLen},
		{name: "max_batch", doc: "largest batch, 0: any", one: &l.MaxBatch},
		{name: "channel_align", doc: "channels of Conv and ConvTranspose are multiples of this", low: 1, one: &l.ChannelAlign},
		{name: "memory_bytes", doc: "working memory of a segment, 0: any", one: &l.MemoryBytes},
		{name: "min_work", doc: "MACs from which a segment of its own pays", one: &l.MinWork},
		{name: "bf16", doc: "1: convolutions, sums, products and functions also run in bfloat16", one: &l.BF16},
	}
}

// ParseLimits decodes the params of a board's accelerator over the defaults. A
// key that does not exist, or a value of the wrong kind, is an error.
func ParseLimits(params map[string]any) (Limits, error) {
	l := Defaults()
	fields := l.fields()
	keys := make([]string, 0, len(params))
	for k := range params {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == k })
		if i < 0 {
			var known []string
			for _, f := range fields {
				known = append(known, f.name)
			}
			return l, fmt.Errorf("accelerator parameter %q is unknown; known: %s", k, strings.Join(known, ", "))
		}
		f := fields[i]
		if err := f.set(params[k]); err != nil {
			return l, err
		}
	}
	if l.SoftmaxLen > 4095 { // the sum of exponentials has no room for more
		return l, fmt.Errorf("accelerator parameter softmax_len is %d, want at most 4095", l.SoftmaxLen)
	}
	return l, nil
}

func (f *field) set(v any) error {
	if f.one != nil {
		n, ok := integer(v)
		if !ok || n < f.low {
			return fmt.Errorf("accelerator parameter %s is %v, want an integer from %d", f.name, v, f.low)
		}
		*f.one = n
		return nil
	}
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return fmt.Errorf("accelerator parameter %s is %v, want a list of integers", f.name, v)
	}
	var out []int
	for _, x := range items {
		n, ok := integer(x)
		if !ok || n < f.low {
			return fmt.Errorf("accelerator parameter %s is %v, want integers from %d", f.name, v, f.low)
		}
		out = append(out, n)
	}
	*f.list = out
	return nil
}

// integer takes what a YAML or JSON decoder gives for a whole number.
func integer(v any) (int, bool) {
	switch x := v.(type) {
	case int:
		return x, x <= math.MaxInt32
	case int64:
		return int(x), x <= math.MaxInt32 && x >= 0
	case uint64:
		return int(x), x <= math.MaxInt32
	case float64:
		return int(x), x == math.Trunc(x) && math.Abs(x) <= math.MaxInt32
	}
	return 0, false
}
