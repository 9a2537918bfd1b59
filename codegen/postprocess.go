// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Postprocess says what becomes of a model's outputs; what is nil is not asked for.
type Postprocess struct {
	Outputs  []string // names of the outputs that the others number
	Boxes    *postprocess.Boxes
	Classes  *postprocess.Classes
	Keywords *postprocess.Keywords
}

// PostprocessInfo is a function that was emitted.
type PostprocessInfo struct {
	Function   string `json:"function"` // C, with its prefix
	File       string `json:"file"`
	TableBytes int    `json:"table_bytes"`  // constants
	Bytes      int    `json:"result_bytes"` // of the struct that the caller gives
	Says       string `json:"says"`
}

// Empty reports that nothing is asked for.
func (p *Postprocess) Empty() bool {
	return p == nil || p.Boxes == nil && p.Classes == nil && p.Keywords == nil
}

// postView is one function as the templates print it.
type postView struct {
	PostprocessInfo
	Kind       string // boxes, classes, keywords
	Kernel     string
	CType      string // of the outputs' elements
	Outputs    []string
	Tables     []tableView
	Params     []string // lines of the initialiser
	ParamsType string
	ParamsName string
	Most       int // results
	Candidates int
	Count      int // outputs of boxes; classes of keywords
	Window     int
}

// First is the function that gives the place of the only output.
func (v postView) First() string { return v.Outputs[0] }

// tableView is an array of constants.
type tableView struct {
	Type, Name, Doc string
	Len             int
	Rows            []string
}

// Postprocesses reports whether there is any to print.
func (v *modelView) Postprocesses() bool { return len(v.Post) > 0 }

// poster makes views of what is asked for.
type poster struct {
	prefix string
	types  []types.Type // of the outputs
	names  []string     // functions that give their places
}

// postViews are the views of what m asks for.
func postViews(m Model, infos []IOInfo, views []ioView) (out []postView, err error) {
	defer fail.Catch(&err)
	p := m.Postprocess
	if p.Empty() {
		return nil, nil
	}
	w := &poster{prefix: m.Prefix}
	for _, n := range p.Outputs {
		i := slices.IndexFunc(infos, func(x IOInfo) bool { return x.Name == n })
		if i < 0 {
			return nil, bug.Errorf("postprocessing of %s, which is no output", n)
		}
		w.types, w.names = append(w.types, infos[i].Type), append(w.names, views[i].Fn)
	}
	for _, v := range []*postView{w.boxes(p), w.classes(p), w.keywords(p)} {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out, nil
}

// Check says why C does not read outputs of these types; nil: it does.
func (p *Postprocess) Check(outputs []types.Type) error {
	read := [][]types.Type{}
	if p.Boxes != nil {
		list := lists.Map(p.Boxes.Used(), func(i int) types.Type { return outputs[i] })
		read = append(read, list)
	}
	if p.Classes != nil {
		read = append(read, outputs[p.Classes.Output:][:1])
	}
	if p.Keywords != nil {
		read = append(read, outputs[p.Keywords.Output:][:1])
	}
	for _, list := range read {
		if _, _, err := postType(list); err != nil {
			return err
		}
	}
	return nil
}

// postType is the end of a kernel's name for outputs of types, and their C type.
func postType(list []types.Type) (kind, ctype string, err error) {
	for i, t := range list {
		var k, c string
		switch {
		case t.DType == tensor.F32:
			k, c = "f32", "float"
		case t.Quant == nil || t.Quant.Axis >= 0:
			return "", "", fmt.Errorf("an output of %s without a scale; want float32 or quantised integers", t.DType)
		case t.DType == tensor.I8:
			k, c = "s8", "int8_t"
		case t.DType == tensor.U8:
			k, c = "u8", "uint8_t"
		case t.DType == tensor.I16:
			k, c = "s16", "int16_t"
		default:
			return "", "", fmt.Errorf("an output of type %s; want float32, int8, uint8 or int16", t.DType)
		}
		if i > 0 && k != kind {
			return "", "", fmt.Errorf("outputs of %s and %s; want one type (--io float makes all of them floats)",
				list[0].DType, t.DType)
		}
		kind, ctype = k, c
	}
	return kind, ctype, nil
}

// view begins one.
func (w *poster) view(kind, says string, list []types.Type) *postView {
	k, ctype := fail.Must2(postType(list))
	v := &postView{Kind: kind, Kernel: "nncc_" + kind + "_" + k, CType: ctype,
		ParamsType: "nncc_" + kind + "_params", ParamsName: w.prefix + "_postprocess_params_" + kind}
	v.PostprocessInfo = PostprocessInfo{Function: w.prefix + "_postprocess_" + kind, File: w.prefix + "_postprocess.c",
		Says: comment(says)}
	return v
}

// table adds constants and gives their name.
func table[T any](v *postView, prefix, name, ctype, doc string, list []T, lit func(T) string) string {
	t := tableView{Type: ctype, Doc: doc, Len: len(list), Name: prefix + "_postprocess_" + name}
	for from := 0; from < len(list); from += 8 {
		row := lists.Map(list[from:min(from+8, len(list))], func(x T) string { return lit(x) })
		t.Rows = append(t.Rows, strings.Join(row, ", "))
	}
	v.Tables = append(v.Tables, t)
	v.TableBytes += 4 * len(list)
	return t.Name
}

func intLit(x int32) string { return IntLit(int64(x)) }

// steps is what the integers of an output stand for.
func steps(t types.Type) string {
	if t.Quant == nil {
		return "{1.0f, 0}"
	}
	return fmt.Sprintf("{%s, %d}", FloatLit(t.Quant.ScaleAt(0)), t.Quant.ZeroAt(0))
}

// valued is an output's values by their integers.
func valued(t types.Type) (value func(q int64) float32, lo, hi int64) {
	lo, hi = t.DType.IntRange()
	zero, scale := int64(t.Quant.ZeroAt(0)), t.Quant.ScaleAt(0)
	return func(q int64) float32 { return float32(q-zero) * scale }, lo, hi
}

// slack is how much less than a threshold a score is taken for it where it is only compared
// beforehand: more than what Exp is off.
const slack = 2e-6

// leastInt is an integer of an output below which no score reaches t.
func leastInt(scores postprocess.Activation, t float32, out types.Type) int32 {
	value, lo, hi := valued(out)
	n := sort.Search(int(hi-lo+1), func(i int) bool {
		x := value(lo + int64(i))
		if scores == postprocess.SigmoidOf {
			x = postprocess.Sigmoid(x)
		}
		return float64(x) >= float64(t)*(1-slack)
	})
	return int32(lo + int64(n))
}

// leastReal is a value below which no score reaches t.
func leastReal(scores postprocess.Activation, t float32) float32 {
	switch {
	case scores == postprocess.None:
		return t
	case scores == postprocess.SigmoidOf && t > 1e-30:
		return logit(t)
	}
	return -math.MaxFloat32
}

// logit is a number of which the sigmoid is a little less than t.
func logit(t float32) float32 {
	x := min(float64(t)*(1-slack), 0.99999)
	return float32(math.Log(x/(1-x)) - 1e-3)
}

// boxes is the view of a detector.
func (w *poster) boxes(p *Postprocess) *postView {
	b := p.Boxes
	if b == nil {
		return nil
	}
	used := b.Used()
	number := func(f postprocess.Field) int { return slices.Index(used, f.Output) }
	list := lists.Map(used, func(i int) types.Type { return w.types[i] })
	v := w.view("boxes", fmt.Sprintf("boxes of %d classes in an input of %g x %g pixels", b.Labels(), b.Width,
		b.Height), list)
	v.Most, v.Candidates, v.Bytes, v.Count = b.Most, b.Candidates, 4+28*b.Candidates, len(used)
	v.Outputs = lists.Map(used, func(i int) string { return w.names[i] })
	lowest := slices.Min(b.Threshold)
	margin := float32(-math.MaxFloat32)
	if b.Scores == postprocess.SoftmaxOf && b.Background >= 0 && lowest > 1e-30 {
		margin = logit(lowest)
	}
	var maps []string
	for i, m := range b.Maps {
		maps = append(maps, w.grid(v, b, i, &m, number, margin))
	}
	stepList := lists.Map(list, steps)
	object := float32(-math.MaxFloat32)
	if b.Scores == postprocess.SigmoidOf {
		object = leastReal(b.Scores, lowest)
	}
	least := "NULL"
	if v.CType == "float" {
		least = table(v, w.prefix, "least", "float", "Lower values of a class are no candidates.", leastReals(b),
			FloatLit)
	}
	name := w.prefix + "_postprocess_maps"
	v.Tables = append(v.Tables, tableView{Type: "nncc_box_map", Name: name, Doc: "Where predictions lie.",
		Len: len(b.Maps), Rows: maps},
		tableView{Type: "nncc_steps", Name: w.prefix + "_postprocess_steps",
			Doc: "Scale and zero point of each output.", Len: len(list), Rows: stepList})
	v.TableBytes += 8*len(list) + 160*len(b.Maps)
	v.Params = []string{
		fmt.Sprintf(".coding = %d, .y_first = %d, .bins = %d", b.Coding, flag(b.YFirst), b.Bins),
		fmt.Sprintf(".unit = {%s, %s}, .variance = {%s}", FloatLit(b.UnitX), FloatLit(b.UnitY), floats(b.Variance[:])),
		fmt.Sprintf(".scores = %d, .classes = %d, .background = %d, .all_labels = %d", b.Scores, b.Classes,
			b.Background, flag(b.AllLabels)),
		fmt.Sprintf(".thresholds = %d, .threshold = %s, .least = %s", len(b.Threshold),
			table(v, w.prefix, "threshold", "float", "The least scores.", b.Threshold, FloatLit), least),
		fmt.Sprintf(".least_object = %s, .margin = %s", FloatLit(object), FloatLit(margin)),
		fmt.Sprintf(".iou = %s, .agnostic = %d, .candidates = %d, .most = %d", FloatLit(b.IoU), flag(b.Agnostic),
			b.Candidates, b.Most),
		fmt.Sprintf(".width = %s, .height = %s", FloatLit(b.Width), FloatLit(b.Height)),
		fmt.Sprintf(".maps = %d, .map = %s, .steps = %s_postprocess_steps", len(b.Maps), name, w.prefix)}
	return v
}

// leastReals are values of an output of floats below which no score reaches each threshold.
func leastReals(b *postprocess.Boxes) []float32 {
	out := make([]float32, len(b.Threshold))
	for i, t := range b.Threshold {
		if hasLabel(b) {
			t = slices.Min(b.Threshold)
		}
		out[i] = leastReal(b.Scores, t)
		if b.Scores == postprocess.None && hasObject(b) {
			out[i] = -math.MaxFloat32
		}
	}
	return out
}

func hasLabel(b *postprocess.Boxes) bool {
	return slices.ContainsFunc(b.Maps, func(m postprocess.Map) bool { return m.Label.Output >= 0 })
}

func hasObject(b *postprocess.Boxes) bool {
	return slices.ContainsFunc(b.Maps, func(m postprocess.Map) bool { return m.Object.Output >= 0 })
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func floats(list []float32) string {
	out := lists.Map(list, FloatLit)
	return strings.Join(out, ", ")
}

// grid is a map as an initialiser.
func (w *poster) grid(v *postView, b *postprocess.Boxes, i int, m *postprocess.Map,
	number func(postprocess.Field) int, margin float32) string {
	field := func(f postprocess.Field) string {
		if f.Output < 0 {
			return "{-1, 0, 0, 0, 0, 0}"
		}
		t := w.types[f.Output]
		step := func(n, logical int) int {
			if n < 2 {
				return 0
			}
			return memory(t, logical)
		}
		return fmt.Sprintf("{%d, %d, %d, %d, %d, %d}", number(f), memory(t, f.Base), step(m.Rows, f.Row),
			step(m.Cols, f.Col), step(m.Anchors, f.Anchor), memory(t, f.Channel))
	}
	least, object, apart := "NULL", int32(0), int32(math.MinInt32)
	if v.CType != "float" {
		var list []int32
		list, object, apart = w.integers(b, m, margin)
		least = table(v, w.prefix, fmt.Sprintf("least_%d", i), "int32_t",
			fmt.Sprintf("Map %d: lower integers of a class are no candidates.", i), list, intLit)
	}
	at := "NULL"
	if len(m.Table) > 0 {
		at = table(v, w.prefix, fmt.Sprintf("table_%d", i), "float", fmt.Sprintf("Map %d: anchors or prior boxes, in "+
			"pixels.", i), m.Table, FloatLit)
	}
	return fmt.Sprintf("{%d, %d, %d, {%s, %s}, %s, %s, %s, %s, %s, %s, %s, %s, %s}", m.Rows, m.Cols, m.Anchors,
		FloatLit(m.StrideX), FloatLit(m.StrideY), field(m.Box), field(m.Size), field(m.Score), field(m.Object),
		field(m.Label), at, least, intLit(object), intLit(apart))
}

// integers are what integers of a map's scores are compared with.
func (w *poster) integers(b *postprocess.Boxes, m *postprocess.Map, margin float32) (least []int32, object,
	apart int32) {
	t := w.types[m.Score.Output]
	lo, hi := t.DType.IntRange()
	lowest := slices.Min(b.Threshold)
	// A product is no more than each factor, where the other one is from 0 to 1.
	bounded := func(t types.Type) bool {
		value, lo, hi := valued(t)
		return b.Scores == postprocess.SigmoidOf ||
			b.Scores == postprocess.None && value(lo) >= 0 && value(hi) <= 1
	}
	single := b.Scores != postprocess.SoftmaxOf &&
		(m.Object.Output < 0 || bounded(w.types[m.Object.Output]))
	for _, x := range b.Threshold {
		if m.Label.Output >= 0 {
			x = lowest
		}
		q := int32(lo)
		if single {
			q = leastInt(b.Scores, x, t)
		}
		least = append(least, q)
	}
	object = int32(lo)
	if m.Object.Output >= 0 && b.Scores != postprocess.SoftmaxOf && bounded(t) {
		object = leastInt(b.Scores, lowest, w.types[m.Object.Output])
	}
	apart = math.MinInt32
	if margin > -math.MaxFloat32 {
		apart = int32(max(math.Floor(float64(margin)/float64(t.Quant.ScaleAt(0)))-1, float64(2*(lo-hi))))
	}
	return least, object, apart
}

// classes is the view of the best classes.
func (w *poster) classes(p *Postprocess) *postView {
	c := p.Classes
	if c == nil {
		return nil
	}
	t := w.types[c.Output]
	v := w.view("classes", fmt.Sprintf("the best %d of %d classes", c.Top, c.Count), []types.Type{t})
	v.Most, v.Bytes, v.Outputs = c.Top, 4+8*c.Top, []string{w.names[c.Output]}
	v.Params = []string{
		fmt.Sprintf(".count = %d, .scores = %d, .top = %d", c.Count, c.Scores, c.Top),
		fmt.Sprintf(".thresholds = %d, .threshold = %s", len(c.Threshold), table(v, w.prefix, "threshold_classes",
			"float", "The least scores.", c.Threshold, FloatLit)),
		fmt.Sprintf(".steps = %s", steps(t))}
	return v
}

// keywords is the view of keywords.
func (w *poster) keywords(p *Postprocess) *postView {
	k := p.Keywords
	if k == nil {
		return nil
	}
	t := w.types[k.Output]
	v := w.view("keywords", fmt.Sprintf("keywords by their mean scores in %d runs", k.Window), []types.Type{t})
	v.Count, v.Window, v.Outputs = k.Count, k.Window, []string{w.names[k.Output]}
	v.Bytes = 12 + 2*k.Window*k.Count + 4*k.Count
	list := make([]int32, k.Count)
	for i := range list {
		list[i] = int32(min(max(k.LeastSum(i), 0), math.MaxInt32))
		if slices.Contains(k.Ignore, i) {
			list[i] = -1
		}
	}
	v.Params = []string{
		fmt.Sprintf(".count = %d, .scores = %d, .window = %d, .quiet = %d", k.Count, k.Scores, k.Window, k.Quiet),
		fmt.Sprintf(".least = %s", table(v, w.prefix, "least_keywords", "int32_t",
			"Sums over the window that are enough, in 1/32768; -1: no keyword.", list, intLit)),
		fmt.Sprintf(".steps = %s", steps(t))}
	return v
}

// postFunctions are the kernels that postprocessing calls.
func postFunctions(list []postView) []string {
	return lists.Map(list, func(v postView) string { return v.Kernel })
}
