// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// qForms are operators between DequantizeLinear and QuantizeLinear that have a
// form on integers (QOperator), with its domain.
var qForms = map[string][2]string{
	"Conv": {"QLinearConv", ""}, "MatMul": {"QLinearMatMul", ""},
	"Add": {"QLinearAdd", "com.microsoft"}, "Mul": {"QLinearMul", "com.microsoft"},
	"Where": {"QLinearWhere", "com.microsoft"}, "Concat": {"QLinearConcat", "com.microsoft"},
	"Sigmoid": {"QLinearSigmoid", "com.microsoft"}, "LeakyRelu": {"QLinearLeakyRelu", "com.microsoft"},
	"Softmax":     {"QLinearSoftmax", "com.microsoft"},
	"AveragePool": {"QLinearAveragePool", "com.microsoft"}, "GlobalAveragePool": {"QLinearGlobalAveragePool",
		"com.microsoft"},
}

// toQOperators gives operators of a QDQ model their form on integers, where
// every operand has one, and returns how many. The Q and DQ nodes around them
// stay for other readers.
func toQOperators(m *pb.ModelProto) int {
	g := m.Graph
	def, uses := map[string]*pb.NodeProto{}, map[string]int{}
	for _, n := range g.Node {
		for _, s := range n.Output {
			def[s] = n
		}
		for _, s := range n.Input {
			uses[s]++
		}
	}
	for _, v := range g.Output {
		uses[v.GetName()] += 2
	}
	types := map[string]int32{}
	for _, x := range g.Initializer {
		types[x.GetName()] = x.GetDataType()
	}
	// integers are the data, scale and zero point behind a float value.
	integers := func(s string) []string {
		d := def[s]
		if d == nil || d.GetOpType() != "DequantizeLinear" || len(d.Input) != 3 {
			return nil
		}
		return d.Input
	}
	byte8 := func(zero string) bool { return types[zero] == 2 || types[zero] == 3 }
	count := 0
	for _, q := range g.Node {
		n := def[q.Input[0]]
		if q.GetOpType() != "QuantizeLinear" || len(q.Input) != 3 || !byte8(q.Input[2]) || len(q.Attribute) > 0 ||
			n == nil || uses[n.Output[0]] != 1 {
			continue
		}
		form, ok := qForms[n.GetOpType()]
		var in []string
		for i, s := range n.Input {
			switch {
			case n.GetOpType() == "Where" && i == 0:
				in = append(in, s)
				continue
			case n.GetOpType() == "Conv" && i == 2: // int32 of the scale of the products, or none
				d := def[s]
				ok = ok && d != nil && d.GetOpType() == "DequantizeLinear" && types[d.Input[0]] == 6
				if ok {
					in = append(in, q.Input[1], q.Input[2], d.Input[0])
				}
				continue
			}
			x := integers(s)
			if x == nil || !byte8(x[2]) || form[1] != "" && types[x[2]] != types[q.Input[2]] ||
				len(def[s].Attribute) > 0 && !(i == 1 && form[1] == "") {
				ok = false
				break
			}
			in = append(in, x...)
		}
		if !ok {
			continue
		}
		switch {
		case n.GetOpType() == "Concat":
			in = append(slices.Clone(q.Input[1:]), in...)
		case n.GetOpType() != "Conv" || len(n.Input) < 3:
			in = append(in, q.Input[1:]...)
		}
		if n.GetOpType() == "Softmax" {
			n.Attribute = append(n.Attribute, &pb.AttributeProto{Name: proto.String("opset"),
				Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(13)})
		}
		n.OpType, n.Domain = proto.String(form[0]), proto.String(form[1])
		n.Input, n.Output = in, q.Output
		q.OpType = nil // removed below
		count++
	}
	g.Node = slices.DeleteFunc(g.Node, func(n *pb.NodeProto) bool { return n.OpType == nil })
	m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String("com.microsoft"),
		Version: proto.Int64(1)})
	return count
}

// TestRandomQOperators: random networks of which whatever can be is in QOperator
// form compute what the models mean.
func TestRandomQOperators(t *testing.T) {
	from, n := testenv.Range(t, 40)
	converted := 0
	for s := from; s < from+n; s++ {
		p, err := onnx.Export(irtest.ExposeQuantised(irtest.GenQDQ(uint64(s))), onnx.ExportOptions{})
		require(t, err)
		k := toQOperators(p)
		if k == 0 {
			continue
		}
		converted += k
		b, err := onnx.Marshal(p)
		require(t, err)
		m, g := imported(t, b)
		checkModel(t, uint64(s), m, g, "host")
	}
	t.Logf("%d operators in QOperator form in %d networks", converted, n)
	if converted == 0 && n >= 40 {
		t.Error("no operator was brought to QOperator form")
	}
}

// imported is the model of a file with its graph.
func imported(t testing.TB, b []byte) (*onnx.Model, *ir.Graph) {
	t.Helper()
	m, err := onnx.Parse(b, onnx.Limits{})
	require(t, err)
	g, err := onnx.OpenModel(m, onnx.ImportOptions{})
	require(t, err)
	return m, g
}
