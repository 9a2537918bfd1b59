package codegen

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/lower/target"
	runtimec "github.com/nncc/nncc/runtime_c"
	"github.com/nncc/nncc/schedule"
)

// modelView is everything the templates print.
type modelView struct {
	Options
	Upper     string
	Arena     int
	Align     int
	Inputs    []ioView
	Outputs   []ioView
	Steps     []stepView
	Structs   []structView
	Weights   weightView
	Headers   []string
	Runtime   runtimeView
	UsesCMSIS bool
	NeedsMath bool
	// RunNeedsStatus: at least one step can fail.
}

// RunNeedsStatus reports whether any step returns a status.
func (v *modelView) RunNeedsStatus() bool {
	for _, s := range v.Steps {
		if s.Status {
			return true
		}
	}
	return false
}

// NeedsHelpers reports whether any input or output has float or layout helpers.
func (v *modelView) NeedsHelpers() bool {
	for _, x := range append(append([]ioView(nil), v.Inputs...), v.Outputs...) {
		if x.Quantised || x.Permuted {
			return true
		}
	}
	return false
}

// NeedsQuantise reports whether an input has a quantising helper.
func (v *modelView) NeedsQuantise() bool {
	for _, x := range v.Inputs {
		if x.Quantised {
			return true
		}
	}
	return false
}

// ioView is an input or output of the header and its helpers.
type ioView struct {
	CName, Upper, CType  string
	Comment              string
	Offset, Bytes, Elems int
	Rank                 int
	Shape                string // initialiser of the logical shape
	Layout               string // text: the memory order
	Quantised            bool
	Scale, Zero          string
	Lo, Hi               string
	Pointer              string // expression on uint8_t *a
	ConstPointer         string
	// Permuted: memory order differs from the logical one (--io-layout native).
	Permuted bool
	Dims     []permDim
}

// permDim is one loop of the layout helpers, outermost first in logical order.
type permDim struct {
	Var    string
	Size   int
	Stride int // in memory, elements
}

func newIOView(x IOInfo, o Options) ioView {
	t := x.Type
	v := ioView{CName: x.CName, Upper: x.Upper, CType: x.CType, Offset: x.Offset, Bytes: x.Bytes, Elems: t.Elems(), Rank: t.Rank()}
	v.Comment = comment(fmt.Sprintf("%s: %s%v", x.Name, t.DType, t.Shape))
	var dims []string
	for _, d := range t.Shape {
		dims = append(dims, fmt.Sprint(d))
	}
	v.Shape = "{" + strings.Join(dims, ", ") + "}"
	if len(dims) == 0 {
		v.Shape = "{1}"
	}
	phys, permuted := physical(t)
	v.Permuted = permuted
	v.Layout = "as in the ONNX model"
	if permuted {
		v.Layout = fmt.Sprintf("NOT the ONNX order: memory holds dimensions %v (NHWC), that is %v", t.Order, phys)
		stride := map[int]int{}
		s := 1
		for i := len(phys) - 1; i >= 0; i-- {
			stride[t.Order[i]] = s
			s *= phys[i]
		}
		for d, n := range t.Shape {
			v.Dims = append(v.Dims, permDim{fmt.Sprintf("i%d", d), n, stride[d]})
		}
	}
	if t.Quant != nil && t.Quant.Axis < 0 {
		v.Quantised = true
		v.Scale = FloatLit(t.Quant.Scale[0])
		v.Zero = IntLit(int64(t.Quant.Zero[0]))
		lo, hi := dtypeRange(t.DType)
		v.Lo, v.Hi = IntLit(lo), IntLit(hi)
	}
	v.Pointer = cast(x.CType, x.Offset, false)
	v.ConstPointer = cast(x.CType, x.Offset, true)
	return v
}

func cast(ctype string, off int, isConst bool) string {
	c := ""
	if isConst {
		c = "const "
	}
	if ctype == "uint8_t" {
		return fmt.Sprintf("(%suint8_t *)arena + %d", c, off)
	}
	return fmt.Sprintf("(%s%s *)(%svoid *)((%suint8_t *)arena + %d)", c, ctype, c, c, off)
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

func weightsView(b *blobs, binary bool) weightView {
	v := weightView{Binary: binary, Bytes: b.total()}
	v.Fallback = binary && v.Bytes <= fallbackLimit
	for _, x := range b.list {
		w := weightBlob{blob: x}
		if !binary {
			w.Init = x.Text()
		}
		v.Blobs = append(v.Blobs, w)
	}
	return v
}

// NeedsMath reports NAN or INFINITY among constants in C text.
func (v weightView) NeedsMath() bool {
	for _, b := range v.Blobs {
		if strings.Contains(b.Init, "NAN") || strings.Contains(b.Init, "INFINITY") {
			return true
		}
	}
	return false
}

// runtimeView lists the kernel sources for the build files.
type runtimeView struct {
	Own     []string // sources below nncc/ that are always compiled
	CMSIS   []string // our sources of the CMSIS-NN functions
	headers []string
}

func newRuntimeView(files []runtimec.File) runtimeView {
	var v runtimeView
	for _, f := range files {
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
	for f := range e.funcs {
		if strings.HasPrefix(f, "arm_") {
			want["arm_nnfunctions.h"] = true
		}
	}
	for h := range e.headers {
		want[h] = true
	}
	for _, h := range v.headers {
		switch h {
		case "nncc_f32.h", "nncc_s8.h", "nncc_move.h":
			want[h] = true
		}
	}
	return sortedKeys(want)
}

func argBlobBytes(a target.Arg, s *schedule.Step) int {
	switch a := a.(type) {
	case *target.Blob:
		return len(a.Data)
	case target.In:
		if c := s.Node.In[a.I].Const; c != nil {
			return s.Node.In[a.I].Type.Bytes()
		}
	case *target.Array:
		return len(a.Elems) * a.Bytes
	case *target.Struct:
		n := 0
		for _, f := range a.Fields {
			n += argBlobBytes(f.Value, s)
		}
		return n
	case target.Nested:
		n := 0
		for _, f := range a.Fields {
			n += argBlobBytes(f.Value, s)
		}
		return n
	}
	return 0
}
