// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/lower/accel/mla/lm"
	"github.com/nncc/nncc/schedule"
)

// A command is a kernel call: its opcode stands for the function, its operands
// for the pointers, its parameters for the fields of the parameter struct.

// form says which argument of a function is what: "p" the parameter struct,
// "-" an argument that must be empty or zero, other names the operands.
type form struct {
	op   lm.Opcode
	args []string
}

// forms are the functions that the MLA executes.
var forms = map[string]form{
	"mla_conv2d":                   {lm.Conv2D, []string{"p", "x", "w", "bias", "mult", "shift", "y"}},
	"nncc_conv2d_wzp_s8":           {lm.Conv2D, []string{"p", "x", "w", "bias", "-", "mult", "shift", "y"}},
	"nncc_depthwise_conv2d_wzp_s8": {lm.Depthwise, []string{"p", "x", "w", "bias", "-", "mult", "shift", "y"}},
	"mla_matmul":                   {lm.MatMul, []string{"p", "a", "b", "bias", "mult", "shift", "y"}},
	"nncc_fully_connected_wzp_s8":  {lm.MatMul, []string{"p", "a", "b", "bias", "-", "mult", "shift", "y"}},
	"mla_add":                      {lm.Add, []string{"p", "a", "b", "y"}},
	"mla_mul":                      {lm.Mul, []string{"p", "a", "b", "y"}},
	"nncc_avg_pool2d_s8":           {lm.AvgPool, []string{"p", "x", "y"}},
	"nncc_avg_pool2d_mult_s8":      {lm.AvgPool, []string{"p", "x", "y"}},
	"nncc_max_pool2d_s8":           {lm.MaxPool, []string{"p", "x", "y"}},
	"nncc_softmax_s8":              {lm.Softmax, []string{"p", "x", "y"}},
	"nncc_layer_norm_s8":           {lm.LayerNorm, []string{"p", "x", "terms", "y"}},
	"nncc_group_norm_s8":           {lm.GroupNorm, []string{"p", "x", "terms", "y"}},
	"nncc_lut_s8":                  {lm.Table256, []string{"p", "x", "table", "y"}},
	"nncc_lut2_s8":                 {lm.Table2, []string{"p", "a", "b", "row_of", "rows", "y"}},
	"nncc_convert_s8_u8":           {lm.Xor80, []string{"p", "x", "y"}},
	"nncc_scale_shift_s8":          {lm.ScaleShift, []string{"p", "x", "affine", "y"}},
	"nncc_prelu_s8":                {lm.PRelu, []string{"p", "x", "positive", "negative", "y"}},
	"nncc_sum_s8":                  {lm.Sum, []string{"p", "a", "b", "table_a", "table_b", "y"}},
	"nncc_div_s8":                  {lm.Div, []string{"p", "a", "b", "reciprocal", "y"}},
	"nncc_binary_s8":               {lm.Binary, []string{"p", "a", "b", "y"}},
	"nncc_copy_nd":                 {lm.CopyND, []string{"p", "x", "y"}},
	"nncc_copy_rows":               {lm.CopyRows, []string{"p", "x", "y"}},
	"nncc_fill":                    {lm.Fill, []string{"p", "value", "y"}},
	"nncc_pad":                     {lm.Pad, []string{"p", "x", "value", "y"}},
	"nncc_resize_nearest":          {lm.ResizeNearest, []string{"p", "x", "index_h", "index_w", "outside", "y"}},
	"nncc_resize_s8":               {lm.Resize, []string{"p", "x", "index_h", "weight_h", "index_w", "weight_w", "y"}},
	"nncc_gather":                  {lm.Gather, []string{"p", "x", "indices", "y"}},
	"nncc_reduce_sum_s8":           {lm.ReduceSum, []string{"p", "x", "y"}},
	"nncc_reduce_max_s8":           {lm.ReduceMax, []string{"p", "x", "y"}},
	"nncc_reduce_min_s8":           {lm.ReduceMin, []string{"p", "x", "y"}},
	"nncc_argmax_s8":               {lm.ArgMax, []string{"p", "x", "y"}},
	"nncc_argmin_s8":               {lm.ArgMin, []string{"p", "x", "y"}},
	"nncc_where":                   {lm.Where, []string{"p", "c", "a", "b", "y"}},
	"mla_conv2d_bf16":              {lm.Conv2DBF16, []string{"p", "x", "w", "bias", "y"}},
	"mla_max_pool2d_bf16":          {lm.MaxPoolBF16, []string{"p", "x", "y"}},
	"mla_binary_bf16":              {lm.BinaryBF16, []string{"p", "a", "b", "y"}},
	"mla_table_bf16":               {lm.TableBF16, []string{"p", "x", "table", "y"}},
	"mla_f32_to_bf16":              {lm.ToBF16, []string{"p", "x", "y"}},
	"mla_bf16_to_f32":              {lm.FromBF16, []string{"p", "x", "y"}},
	"nncc_quantize_f32_s8":         {lm.Quantize, []string{"p", "x", "scale", "zero", "y"}},
	"nncc_dequantize_s8_f32":       {lm.Dequantize, []string{"p", "x", "scale", "zero", "y"}},
}

// enums are the symbols that stand for numbers in parameter structs.
var enums = map[call.Lit]int{
	"NNCC_BINARY_ADD": 0, "NNCC_BINARY_SUB": 1, "NNCC_BINARY_MUL": 2, "NNCC_BINARY_DIV": 3, "NNCC_BINARY_MIN": 4,
	"NNCC_BINARY_MAX": 5, "NNCC_BINARY_PRELU": 6,
}

// writer turns the calls of lowered nodes into commands.
type writer struct {
	seg    *lm.Segment
	plan   *schedule.Result
	low    map[*ir.Node]*call.Lowered
	values map[*ir.Value]int
	consts map[string]int
	temps  map[[2]int]int // scratch by offset and size
}

func (w *writer) step(k int) (err error) {
	defer fail.Catch(&err)
	for _, c := range w.low[w.plan.Nodes[k]].Calls {
		w.seg.Commands = append(w.seg.Commands, w.command(k, c))
	}
	return nil
}

func (w *writer) command(k int, c call.Call) lm.Command {
	s := w.plan.Program.Steps[k]
	f, ok := forms[c.Func]
	if !ok {
		fail.Check(fmt.Errorf("the MLA has no operation for %s of kernel %s", cmp.Or(c.Func, "code"), s.Kernel))
	}
	bug.If(len(c.Args) != len(f.args), "%s has %d arguments, commands.go knows %d", c.Func, len(c.Args), len(f.args))
	info := lm.InfoOf(f.op)
	cmd := lm.Command{Op: f.op, Name: s.Name}
	byName := map[string]lm.Operand{}
	var params map[string]call.Arg
	for i, name := range f.args {
		switch a := c.Args[i]; name {
		case "p":
			params = map[string]call.Arg{}
			flatten(a.(*call.Struct).Fields, params)
		case "-":
			if !zeroes(a) {
				fail.Check(fmt.Errorf("argument %d of %s is not zero: the MLA's weights are symmetric", i, c.Func))
			}
		default:
			byName[name] = w.operand(k, a)
		}
	}
	for _, o := range info.Operands {
		x, ok := byName[o.Name]
		bug.If(!ok, "operand %s of %s comes from no argument", o.Name, info.Name)
		cmd.Operands = append(cmd.Operands, x)
	}
	switch c.Func {
	case "nncc_conv2d_wzp_s8":
		params["spread_h"], params["spread_w"] = call.Lit("1"), call.Lit("1")
	case "nncc_fully_connected_wzp_s8":
		params = fullyConnected(params)
	}
	for _, x := range info.Fields {
		cmd.Params = append(cmd.Params, paramWords(x, params[x.Name])...)
	}
	return cmd
}

// fullyConnected turns rows and columns into a matrix product with the right
// side [n][k].
func fullyConnected(p map[string]call.Arg) map[string]call.Arg {
	v := map[string]int{}
	for _, name := range []string{"batch", "in_n", "out_n", "in_offset", "out_offset", "act_min", "act_max"} {
		v[name] = int(number(p[name]))
	}
	q := map[string]call.Arg{}
	flatten(fields("batch0", 1, "batch1", 1, "m", v["batch"], "k", v["in_n"], "n", v["out_n"], "a_m", v["in_n"], "a_k",
		1, "b_k", 1, "b_n", v["in_n"], "y_m", v["out_n"], "y_n", 1, "per_column", 1, "a_offset", v["in_offset"],
		"out_offset", v["out_offset"], "act_min", v["act_min"], "act_max", v["act_max"]), q)
	return q
}

// flatten collects fields by name; those of named structs inside count as
// fields, lists stay as they are.
func flatten(f []call.Field, into map[string]call.Arg) {
	for _, x := range f {
		if n, ok := x.Value.(call.Nested); ok && len(n.Fields) > 0 && n.Fields[0].Name != "" {
			flatten(n.Fields, into)
			continue
		}
		into[x.Name] = x.Value
	}
}

// paramWords are the words of a parameter; what C leaves out is zero.
func paramWords(f lm.FieldInfo, a call.Arg) []int32 {
	out := make([]int32, f.Kind.Words())
	if a == nil {
		return out
	}
	switch f.Kind {
	case lm.Float64:
		text, _ := call.Number(a)
		x := fail.Must(strconv.ParseFloat(text, 64))
		b := math.Float64bits(x)
		out[0], out[1] = int32(uint32(b)), int32(uint32(b>>32))
	case lm.List:
		l, ok := a.(call.Nested)
		bug.If(!ok || len(l.Fields) > len(out), "%s is no list of up to %d numbers", f.Name, len(out))
		for i, x := range l.Fields {
			out[i] = number(x.Value)
		}
	default:
		out[0] = number(a)
	}
	return out
}

func number(a call.Arg) int32 {
	if p, ok := a.(call.Pitch); ok { // neighbours: compile.go puts nothing into rows
		return int32(p.Row * max(1, p.Times))
	}
	text, ok := call.Number(a)
	bug.If(!ok, "%T, want a number", a)
	if v, ok := enums[call.Lit(text)]; ok {
		return int32(v)
	}
	return int32(fail.Must(strconv.ParseInt(text, 10, 32)))
}

// zeroes reports an argument that is absent or a constant of zeros.
func zeroes(a call.Arg) bool {
	switch a := a.(type) {
	case call.Null:
		return true
	case *call.Blob:
		return !slices.ContainsFunc(a.Data, func(b byte) bool { return b != 0 })
	}
	return false
}

// operand is the place of a pointer argument.
func (w *writer) operand(k int, a call.Arg) lm.Operand {
	n, s := w.plan.Nodes[k], w.plan.Program.Steps[k]
	switch a := a.(type) {
	case call.Null:
		return lm.Operand{Tensor: lm.None}
	case call.In:
		v := n.In[a.I]
		if v.Const != nil {
			return lm.Operand{Tensor: w.constant(v.Name, dtypeOf(v.Type), program.Memory(v.Const, v.Type)),
				Offset: a.Off}
		}
		return lm.Operand{Tensor: w.value(v, lm.Temp), Offset: a.Off}
	case call.Out:
		return lm.Operand{Tensor: w.value(n.Out[a.I], lm.Temp), Offset: a.Off}
	case call.Scratch:
		return lm.Operand{Tensor: w.scratch(s), Offset: a.Off}
	case *call.Blob:
		dt, ok := ctypes[a.CType]
		if !ok {
			fail.Check(fmt.Errorf("constants of %s have no form in a segment file", a.CType))
		}
		return lm.Operand{Tensor: w.constant(s.Name+"."+a.Hint, dt, a.Data)}
	case *call.Array:
		if a.Type != "nncc_affine_s8" {
			fail.Check(fmt.Errorf("constants of %s have no form in a segment file", a.Type))
		}
		return lm.Operand{Tensor: w.constant(s.Name+".affine", lm.Affine, affine(a))}
	}
	fail.Check(fmt.Errorf("argument %T has no form in a segment file", a))
	return lm.Operand{}
}

var ctypes = map[string]lm.DType{"int8_t": lm.I8, "uint8_t": lm.U8, "int16_t": lm.I16, "int32_t": lm.I32,
	"uint32_t": lm.U32, "int64_t": lm.I64, "double": lm.F64, "float": lm.F32, bf16Type: lm.BF16, "uint16_t": lm.BF16}

// affine are linear functions as the kernel reads them: bias, mult, shift.
func affine(a *call.Array) []byte {
	var out []byte
	for _, e := range a.Elems {
		f := map[string]call.Arg{}
		flatten(e.Fields, f)
		text, _ := call.Number(f["bias"])
		bias := fail.Must(strconv.ParseInt(text, 10, 64))
		out = binary.LittleEndian.AppendUint64(out, uint64(bias))
		for _, name := range []string{"mult", "shift"} {
			out = binary.LittleEndian.AppendUint32(out, uint32(number(f[name])))
		}
	}
	return out
}
