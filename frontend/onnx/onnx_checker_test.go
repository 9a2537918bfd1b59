// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

// mutant is a model with one thing changed.
type mutant struct {
	what string
	p    *pb.ModelProto
}

// mutants changes every field of a model, one at a time: left out, other
// values, elements of lists left out, doubled and exchanged.
func mutants(base *pb.ModelProto) []mutant {
	var out []mutant
	try := func(what string, at []int, change func(m protoreflect.Message, f protoreflect.FieldDescriptor)) {
		p := proto.Clone(base).(*pb.ModelProto)
		m, f := walk(p.ProtoReflect(), at)
		change(m, f)
		if !proto.Equal(p, base) {
			out = append(out, mutant{what, p})
		}
	}
	visit(base.ProtoReflect(), nil, "", func(at []int, where string, f protoreflect.FieldDescriptor,
		v protoreflect.Value) {
		try(where+" left out", at, func(m protoreflect.Message, f protoreflect.FieldDescriptor) { m.Clear(f) })
		if f.IsList() {
			n := v.List().Len()
			for i := range min(n, 4) {
				try(fmt.Sprintf("%s: element %d left out", where, i), at,
					func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
						l := m.Mutable(f).List()
						for k := i; k+1 < n; k++ {
							l.Set(k, l.Get(k+1))
						}
						l.Truncate(n - 1)
					})
				try(fmt.Sprintf("%s: element %d doubled", where, i), at,
					func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
						l := m.Mutable(f).List()
						l.Append(l.Get(i))
					})
				if i+1 < n {
					try(fmt.Sprintf("%s: elements %d and %d exchanged", where, i, i+1), at,
						func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
							l := m.Mutable(f).List()
							a, b := l.Get(i), l.Get(i+1)
							l.Set(i, b)
							l.Set(i+1, a)
						})
				}
				for _, x := range others(f, v.List().Get(i)) {
					try(fmt.Sprintf("%s: element %d is %v", where, i, x), at,
						func(m protoreflect.Message, f protoreflect.FieldDescriptor) { m.Mutable(f).List().Set(i, x) })
				}
			}
			return
		}
		for _, x := range others(f, v) {
			try(fmt.Sprintf("%s is %v", where, x), at,
				func(m protoreflect.Message, f protoreflect.FieldDescriptor) { m.Set(f, x) })
		}
	})
	return out
}

// others are values of a field's kind that are not v.
func others(f protoreflect.FieldDescriptor, v protoreflect.Value) []protoreflect.Value {
	var out []protoreflect.Value
	add := func(x any) {
		if w := protoreflect.ValueOf(x); !w.Equal(v) {
			out = append(out, w)
		}
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		add("")
		add("zz")
		add("x")
		add("ai.onnx")
	case protoreflect.BytesKind:
		b := v.Bytes()
		add(append(bytes.Clone(b), 0))
		add(b[:len(b)/2])
	case protoreflect.Int64Kind:
		for _, x := range []int64{0, -1, v.Int() + 1, 1 << 40} {
			add(x)
		}
	case protoreflect.Int32Kind:
		for _, x := range []int32{0, 7, 8, 99, -1} {
			add(x)
		}
	case protoreflect.FloatKind:
		add(float32(-3))
	case protoreflect.EnumKind:
		for _, x := range []protoreflect.EnumNumber{0, 1, 2, 7, 77} {
			add(x)
		}
	}
	return out
}

// visit calls f for every field that is set, messages within messages too; at
// is the way to it.
func visit(m protoreflect.Message, at []int, where string,
	f func(at []int, where string, d protoreflect.FieldDescriptor, v protoreflect.Value)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		if !m.Has(d) {
			continue
		}
		v := m.Get(d)
		to, name := append(append([]int(nil), at...), i), where+"."+string(d.Name())
		f(append(to, -1), name, d, v)
		switch {
		case d.Message() == nil:
		case d.IsList():
			for k := range v.List().Len() {
				visit(v.List().Get(k).Message(), append(append([]int(nil), to...), k), name+"["+strconv.Itoa(k)+"]", f)
			}
		default:
			visit(v.Message(), append(append([]int(nil), to...), 0), name, f)
		}
	}
}

// walk goes the way that visit went, in a copy of the model.
func walk(m protoreflect.Message, at []int) (protoreflect.Message, protoreflect.FieldDescriptor) {
	for ; ; at = at[2:] {
		d := m.Descriptor().Fields().Get(at[0])
		switch {
		case at[1] < 0:
			return m, d
		case d.IsList():
			m = m.Mutable(d).List().Get(at[1]).Message()
		default:
			m = m.Mutable(d).Message()
		}
	}
}

// judge has onnx.checker look at every model; a line for each says "ok" or why
// not. It is started anew behind a model that ends it.
const judge = `
import sys, struct, onnx
from onnx import checker
start = int(sys.argv[2])
data = open(sys.argv[1], "rb").read()
at = i = 0
while at < len(data):
    n, = struct.unpack_from("<I", data, at)
    b = data[at+4:at+4+n]
    at += 4 + n
    i += 1
    if i <= start:
        continue
    try:
        m = onnx.load_from_string(b)
        checker.check_model(m, full_check=True)
        print("ok", flush=True)
    except BaseException as e:
        print("bad " + " ".join(str(e).split())[:300], flush=True)
`

// onnxChecker gives onnx.checker's verdict on every model, "ok", "bad ..." or
// "crash".
func onnxChecker(t *testing.T, models [][]byte) []string {
	t.Helper()
	py := ""
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import onnx").Run() == nil {
			py = p
			break
		}
	}
	testenv.SkipIf(t, py == "", "python3 with onnx is not installed (apt-get install python3-onnx)")
	file := filepath.Join(t.TempDir(), "models")
	var b []byte
	for _, m := range models {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(m))), m...)
	}
	testenv.OK(t, os.WriteFile(file, b, 0o644))
	var out []string
	for len(out) < len(models) {
		text, err := exec.Command(py, "-c", judge, file, strconv.Itoa(len(out))).Output()
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			out = append(out, s.Text())
		}
		if err != nil && len(out) < len(models) {
			out = append(out, "crash")
		}
	}
	return out
}

// checkerBases are valid models with something of everything.
func checkerBases(t *testing.T) map[string]*pb.ModelProto {
	out := map[string]*pb.ModelProto{}
	for name, text := range map[string]string{
		"conv": `(float[1,2,6,6] x) => (float[1,3,4,4] y) <float[3,2,3,3] w> { c = Conv <strides = [1, 1], pads = [0, 0,
			0, 0]> (x, w) y = Relu (c) }`,
		"branches": `(float[1,4] x, bool c) => (float[1,4] y) { y = If (c) <then_branch = t () => (float[1,4] a) {
			a = Relu (x) }, else_branch = e () => (float[1,4] b) { b = Neg (x) }> }`,
		"loop": `(float[2] x) => (float[2] y) { n = Constant <value = int64 {3}> ()
			y = Loop (n, "", x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity (c)
			w = Add (v, v) }> }`,
		"shapes": `(float[2,6] x) => (float[3,4] y, float[2,3] a, float[2,3] b) <int64[2] s = {3, 4}> { y = Reshape (x, s)
			a, b = Split <axis = 1> (x) }`,
		"types": `(float[1,4] x) => (float[1,4] y) <float s = {0.5}, int8 z = {1}> { q = QuantizeLinear (x, s, z)
			d = DequantizeLinear (q, s, z) h = Cast <to = 10> (d) y = Cast <to = 1> (h) }`,
		"concat": `(float[N,3] x) => (float[N,7] y) <float[1,1] k = {2}> { p = Softmax <axis = 1> (x) m = Mul (p, k)
			g = ReduceMean <axes = [1], keepdims = 1> (m) y = Concat <axis = 1> (x, m, g) }`,
	} {
		m := textModel(t, 13, text).Proto
		m.OpsetImport = m.OpsetImport[:1]
		if name == "conv" {
			m.Graph.ValueInfo = nil
			m.Graph.Initializer = []*pb.TensorProto{{Name: proto.String("w"), DataType: proto.Int32(1),
				Dims: []int64{3, 2, 3, 3}, RawData: make([]byte, 4*54)}}
		}
		out[name] = m
	}
	return out
}

// TestAgainstONNXChecker: what onnx.checker refuses with its full check,
// nncc refuses, too; what it takes, nncc takes, or says why it is stricter.
// NNCC_LONG tries all mutants instead of a sample.
func TestAgainstONNXChecker(t *testing.T) {
	var list []mutant
	for name, base := range checkerBases(t) {
		list = append(list, mutant{name, base})
		for i, m := range mutants(base) {
			if testenv.Long() || i%4 == 0 {
				list = append(list, mutant{name + m.what, m.p})
			}
		}
	}
	models := lists.Map(list, func(m mutant) []byte { return tBytes(m.p) })
	verdicts := onnxChecker(t, models)
	counts := map[string]int{}
	for i, m := range list {
		why := refusal(models[i])
		switch v := verdicts[i]; {
		case v == "crash":
			counts["crash"]++
		case v != "ok" && why == "":
			if known := lax(m, v); known == "" {
				t.Errorf("%s: nncc takes it, onnx.checker does not: %s", m.what, v)
			} else {
				counts["laxer"]++
			}
		case v == "ok" && why != "":
			if known := strict(m, why); known == "" {
				t.Errorf("%s: onnx.checker takes it, nncc does not: %s", m.what, why)
			} else {
				counts["stricter"]++
			}
		case v == "ok":
			counts["both take"]++
		default:
			counts["both refuse"]++
		}
	}
	t.Log(len(list), "models:", counts)
}

// refusal is the first error of nncc check, "" when there is none.
func refusal(b []byte) string {
	m, err := Parse(b, Limits{})
	if err != nil {
		return err.Error()
	}
	fs := Check(m)
	if fs.Count(diag.Error) == 0 {
		if _, err := Import(m, ImportOptions{Declared: func(f *diag.Diag) { fs = append(fs, f) }}); err != nil {
			more := ImportFindings(err)
			if more == nil {
				return err.Error()
			}
			fs = append(fs, more...)
		}
	}
	for _, f := range fs {
		if f.Severity == diag.Error {
			return f.String()
		}
	}
	return ""
}

// laxities are what onnx.checker refuses and nncc takes, by its message and
// the beginning of what was changed, with the reason.
var laxities = []struct{ message, of, why string }{
	{"ir_version is higher than the checker's", "", "the installed ONNX is older than what nncc reads"},
	{"Field 'type' of 'attr' is required", "", "exporters of IR version 1 leave it out, and the one field with a " +
		"value says it"},
	{"type field and data field mismatch", "", "as above, where the type is UNDEFINED"},
	{"is expected to have field 'ints'", "", "an empty list is none of protobuf's fields"},
	{"Field 'name' of 'graph' is required", "", "nothing depends on the name"},
	{"Field 'type' of 'value_info' is required", "", "nncc infers the types of outputs"},
	{"Field 'shape' of 'type' is required", "", "nncc infers the shapes of outputs"},
	{"Unrecognized type value case", "", "nncc infers the types of outputs"},
	{"No opset import for domain ''", "", "ai.onnx is the same domain, ONNX says"},
	{"must be topologically sorted", "", "nncc sorts the nodes, ONNX Runtime does, too"},
	{"existing elem type", "loop.graph", "the types within a Loop are inferred from what goes in"},
	{"Inferred shape and existing shape differ", "loop.graph.node[1].attribute[0].g", "as above, for the shapes"},
	{"Inferred shape and existing shape differ in dimension", "concat",
		"the input has an open dimension: a size that does not fit can come from what it is pinned to"},
	{"Inferred shape and existing shape differ in rank: (0) vs (2)", "types.graph.node[0].input",
		"a scale known only at run time is a limit; nothing behind it is looked at"},
	{"All inputs to Concat must have same rank", "concat.graph.node[2].attribute[1].i",
		"keepdims that is neither 0 nor 1 counts as 1"},
	{"Graph attribute inferencing returned type information for", "loop.graph.node[1]",
		"results of a body that no output of the node takes are not looked at"},
	{"The input is not evenly splittable", "shapes.graph.output",
		"outputs of Split that nobody reads are not looked at"},
}

func lax(m mutant, message string) string {
	if strings.HasSuffix(m.what, "dim_value is -1") {
		return "a size that is open"
	}
	for _, l := range laxities {
		if strings.Contains(message, l.message) && strings.HasPrefix(m.what, l.of) {
			return l.why
		}
	}
	return ""
}

// strictness are codes of what nncc refuses and onnx.checker of ONNX 1.12 takes,
// with what is wrong with such a model.
var strictness = map[string]string{
	"output-missing": "nothing makes an output of the graph", "no-outputs": "the graph computes nothing",
	"elem-type":      "an element type that ONNX does not define",
	"tensor":         "the data of a constant are not those of its shape and type",
	"shape":          "a shape that no value can have",
	"type":           "a declared type that is not the value's",
	"declared-shape": "a declared shape that is not the value's",
	"bias-shape":     "shapes do not go together", "weight-shape": "shapes do not go together",
	"group": "channels do not go together", "axis": "an axis beyond the rank",
	"arity":       "inputs or outputs that the operator does not have",
	"scale-value": "a scale that is no positive number", "ir-version": "an IR version that there is not",
	"input-type": "an element type that the operator does not take", "initializer": "a constant that is not there",
}

func strict(_ mutant, finding string) string {
	i := strings.LastIndex(finding, "[")
	return strictness[strings.Trim(finding[i+1:], "]")]
}
