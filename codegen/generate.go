// Package codegen prints a schedule.Program as a folder of C sources: header,
// steps, weights, input and output helpers, and build files. All decisions are
// made before or in Go; the templates only print.
package codegen

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	runtimec "github.com/nncc/nncc/runtime_c"
	"github.com/nncc/nncc/schedule"
)

// File is one emitted file; Path is below the output folder.
type File struct {
	Path string
	Data []byte
}

// Options of Generate.
type Options struct {
	Prefix   string // C prefix, see Prefix
	Source   string // file name of the model, for comments
	SHA256   string // of the model file
	Version  string // of nncc
	Board    string
	CPUFlags []string // compiler flags of the board's core
	CFlags   []string // other default flags
	CC       string   // default compiler
	AR       string
	NativeIO bool
	Stateful bool // model has recurrent state: emit <name>_reset
	Projects []string
	Notes    []string // for the README: warnings
	// Float inputs keep their name as given by the user of --io float.
}

// Info is what the report and the harness need to know about the output.
type Info struct {
	Prefix       string
	Inputs       []IOInfo
	Outputs      []IOInfo
	WeightBytes  int
	StepNames    []string
	StepBlobs    []int // constant bytes that a step refers to (shared ones counted at every user)
	Functions    []string
	ArenaMacro   string
	WeightBinary bool
}

// IOInfo names one input or output in C.
type IOInfo struct {
	Name, CName, Upper, CType string
	Type                      ir.Type
	Bytes, Offset             int
}

// Generate prints the program.
func Generate(p *schedule.Program, o Options) ([]File, *Info, error) {
	e := &emitter{prefix: o.Prefix, prog: p, byInit: map[string]string{}, headers: map[string]bool{}, funcs: map[string]bool{}}
	e.blobs = blobs{prefix: o.Prefix, byKey: map[string]*blob{}}
	info := &Info{Prefix: o.Prefix, ArenaMacro: strings.ToUpper(o.Prefix) + "_ARENA_BYTES"}
	v := &modelView{Options: o, Upper: strings.ToUpper(o.Prefix), Arena: p.ArenaBytes, Align: schedule.Align}
	info.Inputs, info.Outputs = ioInfo(p)
	for i, s := range p.Steps {
		v.Steps = append(v.Steps, e.step(i, s))
		info.StepNames = append(info.StepNames, s.Name)
		info.StepBlobs = append(info.StepBlobs, stepBlobBytes(s))
	}
	for _, s := range v.Steps {
		for _, c := range s.Calls {
			v.UsesCMSIS = v.UsesCMSIS || c.Check == "cmsis"
		}
	}
	v.Structs = e.structs
	for _, x := range info.Inputs {
		v.Inputs = append(v.Inputs, newIOView(x, o))
	}
	for _, x := range info.Outputs {
		v.Outputs = append(v.Outputs, newIOView(x, o))
	}
	info.WeightBytes = e.blobs.total()
	info.WeightBinary = info.WeightBytes > cTextLimit
	v.Weights = weightsView(&e.blobs, info.WeightBinary)
	info.Functions = sortedKeys(e.funcs)
	runtime, err := runtimec.Files(info.Functions...)
	if err != nil {
		return nil, nil, fmt.Errorf("BUG: runtime sources: %w", err)
	}
	v.Runtime = newRuntimeView(runtime)
	v.Headers = v.Runtime.headersFor(e)
	for _, s := range e.structs {
		v.NeedsMath = v.NeedsMath || strings.Contains(s.Init, "INFINITY") || strings.Contains(s.Init, "NAN")
	}
	files, err := renderAll(v)
	if err != nil {
		return nil, nil, err
	}
	if info.WeightBinary {
		files = append(files, File{o.Prefix + "_weights.bin", e.blobs.binary()})
		if info.WeightBytes <= fallbackLimit {
			files = append(files, File{o.Prefix + "_weights.inc", byteText(e.blobs.binary())})
		}
	}
	for _, f := range runtime {
		files = append(files, File{"nncc/" + f.Path, f.Data})
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files, info, nil
}

func ioInfo(p *schedule.Program) (in, out []IOInfo) {
	var names []string
	for _, x := range p.Inputs {
		names = append(names, x.Name)
	}
	for _, x := range p.Outputs {
		names = append(names, x.Name)
	}
	c := ioNames(names)
	mk := func(k int, x schedule.IO) IOInfo {
		return IOInfo{Name: x.Name, CName: c[k], Upper: strings.ToUpper(c[k]), CType: CType(x.Value.Type.DType), Type: x.Value.Type, Bytes: x.Value.Type.Bytes(), Offset: x.Offset}
	}
	for i, x := range p.Inputs {
		in = append(in, mk(i, x))
	}
	for i, x := range p.Outputs {
		out = append(out, mk(len(p.Inputs)+i, x))
	}
	return in, out
}

// stepBlobBytes is the constant data of a step: the report's weight_bytes.
func stepBlobBytes(s *schedule.Step) int {
	n := 0
	for _, c := range s.Low.Calls {
		for _, a := range c.Args {
			n += argBlobBytes(a, s)
		}
	}
	return n
}

// byteText is the C fallback of a binary: numbers, no declarations.
func byteText(b []byte) []byte {
	var out bytes.Buffer
	for i, x := range b {
		if i > 0 {
			out.WriteByte(',')
			if i%32 == 0 {
				out.WriteByte('\n')
			}
		}
		fmt.Fprintf(&out, "%d", x)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// Physical reports the shape in memory and whether it differs from the
// logical one.
func physical(t ir.Type) ([]int, bool) { return t.Phys(), t.Order != nil && !t.SameMemory(nil) }

// dtypeRange is the integer range of a C type for the quantising helpers.
func dtypeRange(d tensor.DType) (lo, hi int64) { return d.IntRange() }
