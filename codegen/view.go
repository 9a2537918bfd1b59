// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// modelView is everything that the templates of a model print.
type modelView struct {
	Options
	Model
	arenaForm
	Upper     string
	Arena     int
	State     int // bytes
	Align     int
	Inputs    []ioView
	Outputs   []ioView
	States    []stateView
	Steps     []stepView
	Structs   []*structView
	Accessors []accessorView
	Code      []*codeView
	Weights   weightView
	Bound     *boundView // nil: constants are linked
	Staged    *stagedView
	Images    []imageView
	Headers   []string
	Runtime   runtimeView
	NeedsMath bool
	Pre       []preView
	Post      []postView

	inputs, outputs []IOInfo
	arrays          blobs
	bases           []*base
	kernels         []string // functions and files of the runtime that the model needs
}

// RunNeedsStatus reports whether any step returns a status.
func (v *modelView) RunNeedsStatus() bool {
	return slices.ContainsFunc(v.Steps, func(s stepView) bool { return s.Status })
}

// NeedsHelpers reports whether any input or output has float or layout helpers.
func (v *modelView) NeedsHelpers() bool {
	return slices.ContainsFunc(slices.Concat(v.Inputs, v.Outputs), func(x ioView) bool { return len(x.Helpers) > 0 })
}

// NeedsQuantise reports whether an input has a quantising helper.
func (v *modelView) NeedsQuantise() bool {
	return slices.ContainsFunc(v.Inputs, func(x ioView) bool { return x.Quantised && x.Elems > 0 })
}

// cmakeTargets are names that CMake keeps for itself.
var cmakeTargets = words(`all all_build clean depend edit_cache help install list_install_components package
	package_source preinstall rebuild_cache run_tests test zero_check experimental nightly continuous none interface`)

// cmakeTarget is the name of the library in CMake.
func cmakeTarget(prefix string) string {
	if cmakeTargets[strings.ToLower(prefix)] {
		return prefix + "_model"
	}
	return prefix
}

// imageView is a file that the assembler includes.
type imageView struct {
	Name, File string
	Fallback   bool // a C version for compilers without .incbin is there
	data       []byte
}

// Bytes is the size of the file.
func (v imageView) Bytes() int { return len(v.data) }

// Inc is the file of the C version.
func (v imageView) Inc() string { return v.File + ".inc" }

// ioView is an input or output of the header and its helpers.
type ioView struct {
	CName, CType       string
	Macro              string // PREFIX_NAME, in front of _BYTES and the others
	Fn, Proto          string // the function that gives the place
	Check              string // the function that looks at arenas
	Arg                string // name of the parameter
	Comment            string
	Bytes, Elems, Rank int
	Shape              string // initialiser of the logical shape
	Layout             string // text: the memory order
	Permuted           bool   // memory order differs from the logical one
	Quantised          bool   // float helpers
	Scale, Zero        string // of all elements
	PerAxis            bool   // in their place one of each for each index of a dimension
	Axis               int
	Scales, Zeros      string // initialisers; with a bound weights file calls, c being the index
	ScalesArg          string // of the macros: (c) where they are calls
	lo, hi             int64  // of quantised integers
	Pointer            string // expression on void *arena
	Helpers            []helperView
	WhenMacro, WhenDoc string // what steps do to it
	When               int
	Classes            []string // C strings that integers stand for, or columns of reals
	ClassNames         string   // of their array
}

// ClassCount is how many classes have names.
func (v ioView) ClassCount() int { return len(v.Classes) }

// ClassesDoc says what has the place of a class.
func (v ioView) ClassesDoc() string {
	if v.Quantised || v.CType == "float" {
		return "its last dimension"
	}
	return "its numbers"
}

// helperView is a C function of the io file.
type helperView struct {
	Doc, Proto string
	Func       string // its name
	Method     string // its name without the model's
	Elem       string // type of its values
	Body       []string
}

func newIOView(x IOInfo, a arenaForm, input, bound bool) ioView {
	t, prefix := x.Type, a.prefix
	v := ioView{CName: x.CName, CType: x.CType, Macro: strings.ToUpper(prefix) + "_" + x.Upper, Bytes: x.Bytes,
		Elems: t.Elems(), Rank: t.Rank()}
	v.Comment = comment(fmt.Sprintf("%s: %s [%s]", x.Name, t.DType.ONNXName(), list(t.Shape)))
	v.Shape = "{" + list(t.Shape) + "}"
	if t.Rank() == 0 { // C has no empty initialisers; RANK tells the difference
		v.Shape = "{1}"
	}
	v.Layout = "as in the model"
	if v.Permuted = !t.SameMemory(nil); v.Permuted {
		name := ""
		if t.SameMemory(types.NHWC(t.Rank())) {
			name = ", channels last (NHWC)"
		}
		v.Layout = fmt.Sprintf("NOT the model's order%s: memory holds dimensions %s, that is [%s]", name,
			list(t.Order), list(t.Phys()))
	}
	v.Fn = prefix + "_" + x.CName
	v.Proto = fmt.Sprintf("const %s *%s(%s)", x.CType, v.Fn, a.ArenaConst)
	if input {
		v.Proto = fmt.Sprintf("%s *%s(%s)", x.CType, v.Fn, a.ArenaParam)
	}
	v.Check, v.Arg = a.ArenaCheck, a.ArenaName
	if q := t.Quant; q != nil {
		if v.lo, v.hi = t.DType.IntRange(); v.hi <= math.MaxInt32 {
			v.quantised(q, bound)
		}
	}
	v.helpers(t, a, input)
	return v
}

// quantised notes scales and zero points.
func (v *ioView) quantised(q *types.Quant, bound bool) {
	v.Quantised, v.PerAxis, v.Axis = true, q.Axis >= 0, q.Axis
	if !v.PerAxis {
		v.Scale, v.Zero = FloatLit(q.Scale[0]), IntLit(int64(q.Zero[0]))
		return
	}
	var scales, zeros []string
	for i, s := range q.Scale {
		scales, zeros = append(scales, FloatLit(s)), append(zeros, IntLit(int64(q.Zero[i])))
	}
	v.Scales, v.Zeros = "{"+strings.Join(scales, ", ")+"}", "{"+strings.Join(zeros, ", ")+"}"
	if bound {
		v.ScalesArg = "(c)"
	}
}

// scaleAndZero are what the scale and zero point of an element are read from, @c being its index
// along the axis, and the declarations in front.
func (v *ioView) scaleAndZero() (scale, zero string, first []string) {
	switch {
	case !v.PerAxis:
		return v.Macro + "_SCALE", v.Macro + "_ZERO_POINT", nil
	case v.ScalesArg != "":
		return v.Macro + "_SCALES(@c)", v.Macro + "_ZERO_POINTS(@c)", nil
	}
	return "scales[@c]", "zero_points[@c]", []string{
		fmt.Sprintf("    static const float scales[] = %s_SCALES;", v.Macro),
		fmt.Sprintf("    static const int32_t zero_points[] = %s_ZERO_POINTS;", v.Macro)}
}

// list is numbers with commas.
func list(v []int) string {
	s := lists.Map(v, func(x int) string { return strconv.Itoa(x) })
	return strings.Join(s, ", ")
}

// helpers writes the functions that convert from and to reals and the model's order.
func (v *ioView) helpers(t types.Type, a arenaForm, input bool) {
	prefix := a.prefix
	add := func(verb, doc, elem, line string, first ...string) {
		arena, values, own := a.ArenaConst, elem+" *values", "const "+v.CType+" *const q"
		if input {
			arena, values, own = a.ArenaParam, "const "+elem+" *values", v.CType+" *const q"
		}
		check := fmt.Sprintf("%s_io_check(%s, values)", prefix, a.ArenaName)
		h := helperView{Doc: doc, Method: verb + "_" + v.CName, Elem: elem}
		h.Func = prefix + "_" + h.Method
		h.Proto = fmt.Sprintf("nncc_status %s(%s, %s)", h.Func, arena, values)
		if v.Elems == 0 {
			h.Body = []string{"    return " + check + "; /* no elements */"}
		} else {
			h.Body = slices.Concat(first, []string{"    const nncc_status status = " + check + ";",
				fmt.Sprintf("    %s = %s_%s(%s);", own, prefix, v.CName, a.ArenaName)},
				loops(t, line, "    if (status != NNCC_OK) {", "        return status;", "    }"),
				[]string{"    return NNCC_OK;"})
		}
		v.Helpers = append(v.Helpers, h)
	}
	if v.Quantised && input {
		scale, zero, first := v.scaleAndZero()
		doc := "Writes the input from reals, in the model's order: round half to even of value / scale, " +
			"plus zero point, saturated; NaN counts as 0."
		if v.PerAxis {
			doc += fmt.Sprintf(" Each index of dimension %d has a scale and a zero point of its own.", v.Axis)
		}
		add("quantize", doc, "float", fmt.Sprintf("q[@m] = (%s)%s_io_quantise(values[@k], %s, %s, %s, %s);", v.CType,
			prefix, scale, zero, IntLit(v.lo), IntLit(v.hi)), first...)
	}
	if v.Permuted && input {
		add("load", "Writes the input from the same elements in the model's order.", v.CType, "q[@m] = values[@k];")
	}
	if v.Quantised && !input {
		wide := "int32_t"
		if t.DType.Bits() > 16 {
			wide = "int64_t"
		}
		scale, zero, first := v.scaleAndZero()
		add("dequantize", "Gives the output as reals, in the model's order: (value - zero point) * scale.", "float",
			fmt.Sprintf("values[@k] = (float)((%s)q[@m] - %s) * %s;", wide, zero, scale), first...)
	}
	if v.Permuted && !input {
		add("store", "Gives the output's elements in the model's order.", v.CType, "values[@k] = q[@m];")
	}
}

// loops is a loop over all elements in logical order around line, in which @m
// is the index in memory, @k that in logical order, and @c that along the dimension of
// scales; first are statements between the declarations and the loop.
func loops(t types.Type, line string, first ...string) []string {
	if t.SameMemory(nil) {
		line = strings.NewReplacer("@m", "i", "@k", "i", "@c", channel(t)).Replace(line)
		return slices.Concat([]string{"    size_t i;"}, first,
			[]string{fmt.Sprintf("    for (i = 0; i < %du; i++) {", t.Elems()), "        " + line, "    }"})
	}
	stride := make([]int, t.Rank())
	for i, s := t.Rank()-1, 1; i >= 0; i-- {
		stride[t.Order[i]] = s
		s *= t.Shape[t.Order[i]]
	}
	var vars, index, open, end []string
	indent := "    "
	for d, n := range t.Shape {
		if n == 1 {
			continue
		}
		x := fmt.Sprintf("i%d", d)
		vars = append(vars, x)
		at := x
		if stride[d] > 1 {
			at = fmt.Sprintf("%s * %du", x, stride[d])
		}
		index = append(index, at)
		open = append(open, fmt.Sprintf("%sfor (%s = 0; %s < %du; %s++) {", indent, x, x, n, x))
		end = append([]string{indent + "}"}, end...)
		indent += "    "
	}
	c := "0"
	if q := t.Quant; q.PerAxis() && t.Shape[q.Axis] > 1 {
		c = fmt.Sprintf("i%d", q.Axis)
	}
	line = strings.NewReplacer("@m", strings.Join(index, " + "), "@k", "k++", "@c", c).Replace(line)
	out := []string{"    size_t k = 0;", "    size_t " + strings.Join(vars, ", ") + ";"}
	return slices.Concat(out, first, open, []string{indent + line}, end)
}

// channel is the index along the dimension of scales of element i in logical order.
func channel(t types.Type) string {
	if !t.Quant.PerAxis() {
		return ""
	}
	c := "i"
	if inner := tensor.Count(t.Shape[t.Quant.Axis+1:]); inner > 1 {
		c = fmt.Sprintf("i / %du", inner)
	}
	if tensor.Count(t.Shape[:t.Quant.Axis]) > 1 {
		c += fmt.Sprintf(" %% %du", t.Shape[t.Quant.Axis])
	}
	return c
}

// weightView is the constant data.
type weightView struct {
	Binary   bool
	Fallback bool
	Bytes    int
	Blobs    []weightBlob
}

type weightBlob struct {
	*blob
	Init string
}

func weightsView(b blobs, bound bool) weightView {
	v := weightView{Bytes: b.total()}
	v.Binary = v.Bytes > cTextLimit && !bound
	v.Fallback = v.Binary && v.Bytes <= fallbackLimit
	for _, x := range b {
		w := weightBlob{blob: x}
		if !v.Binary && !bound {
			w.Init = x.Text()
		}
		v.Blobs = append(v.Blobs, w)
	}
	return v
}

// NeedsMath reports NAN or INFINITY among constants in C text.
func (v weightView) NeedsMath() bool {
	return slices.ContainsFunc(v.Blobs, func(b weightBlob) bool { return needsMath(b.Init) })
}

// needsMath reports a constant that <math.h> defines.
func needsMath(init string) bool {
	return strings.Contains(init, "NAN") || strings.Contains(init, "INFINITY")
}

// runtimeView lists the kernel sources for the build files.
type runtimeView struct {
	Own     []string // sources below nncc/ that are always compiled
	CMSIS   []string // our sources of the CMSIS-NN functions
	Math    bool     // some source includes <math.h>
	Names   string   // macros: the names under which kernels are linked
	headers []string
}

func newRuntimeView(lib *runtimec.Library, files []runtimec.File) runtimeView {
	v := runtimeView{Names: lib.Names(files)}
	for _, f := range files {
		v.Math = v.Math || bytes.Contains(f.Data, []byte("#include <math.h>"))
		switch {
		case strings.HasSuffix(f.Path, ".h"):
			v.headers = append(v.headers, f.Path)
		case strings.HasPrefix(f.Path, "cmsis_nn/"):
			v.CMSIS = append(v.CMSIS, "nncc/"+f.Path)
		default:
			v.Own = append(v.Own, "nncc/"+f.Path)
		}
	}
	return v
}

// headersFor are the public headers that the emitted steps include.
func (v runtimeView) headersFor(e *emitter) []string {
	want := map[string]bool{}
	for h := range e.headers {
		want[h] = true
	}
	for _, h := range v.headers {
		switch h {
		case "nncc_f32.h", "nncc_s8.h", "nncc_s16.h", "nncc_move.h":
			want[h] = true
		}
	}
	return sortedKeys(want)
}

// constBytes is the constant data to which an argument refers.
func constBytes(p *program.Program, a call.Arg, seen map[int]bool) int {
	switch a := a.(type) {
	case call.Const:
		if x := p.Consts[a.I]; x.Ext == "" && !seen[a.I] {
			seen[a.I] = true
			return len(x.Data)
		}
		return 0
	case *call.Array:
		return len(a.Elems) * a.Bytes
	}
	return lists.Sum(call.Inner(a), func(x call.Arg) int { return constBytes(p, x, seen) })
}
