// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestBackend runs the single-node tests of ONNX's backend suite on the
// operators: inference must give the stored outputs' types, evaluation their
// values. testdata/backend.txt lists the tests that are known not to run, with
// the reason; one that passes all the same fails here until its line goes.
//
// Tests of old operator versions, whose nodes the importer rewrites first, and
// of element types that nncc does not have are counted and left out.
func TestBackend(t *testing.T) {
	sets := backendSets(t)
	if len(sets) == 0 {
		testenv.Lacks(t, "onnx-tests", "no ONNX backend vectors: install libonnx-testdata or set NNCC_ONNX_BACKEND "+
			"to a folder or .tar.gz with node/test_*/")
	}
	known := readRatchet(t)
	for _, path := range sets {
		t.Run(filepath.Base(filepath.Dir(path))+"-"+strings.TrimSuffix(filepath.Base(path), ".tar.gz"),
			func(t *testing.T) {
				set, err := loadSet(path)
				testenv.OK(t, err)
				runBackendSet(t, set, known)
			})
	}
}

type tally struct{ pass, total int }

func runBackendSet(t *testing.T, set map[string]testFiles, known map[string]string) {
	names := make([]string, 0, len(set))
	for n := range set {
		names = append(names, n)
	}
	sort.Strings(names)
	ops := map[string]*tally{}
	left := map[string]int{}
	missing := map[string]int{}
	passed := 0
	for _, name := range names {
		c, err := newCase(set[name])
		if err != nil {
			left[err.Error()]++
			continue
		}
		opName := c.node.GetOpType()
		if d := c.node.GetDomain(); d != "" {
			opName = d + "." + opName
		}
		if c.def == nil {
			missing[opName]++
			continue
		}
		if ops[opName] == nil {
			ops[opName] = &tally{}
		}
		err = c.run()
		short := name[strings.IndexByte(name, '/')+1:]
		reason, listed := known[short]
		switch {
		case errors.Is(err, errUnsupported):
			left[errUnsupported.Error()]++
			continue
		case err == nil && listed:
			t.Errorf("%s passes but is listed as failing (%s): remove its line from testdata/backend.txt", name, reason)
		case err != nil && !listed:
			t.Errorf("%s (%s): %v", name, opName, err)
		}
		ops[opName].total++
		if err == nil {
			ops[opName].pass++
			passed++
		}
	}
	var rows []string
	for n, k := range ops {
		rows = append(rows, fmt.Sprintf("%s %d/%d", n, k.pass, k.total))
	}
	sort.Strings(rows)
	t.Logf("%d tests pass: %s", passed, strings.Join(rows, ", "))
	t.Logf("left out: %v; operators not defined: %v", left, missing)
}

// readRatchet reads the tests known not to run: "name: reason" a line.
func readRatchet(t *testing.T) map[string]string {
	f, err := os.Open("testdata/backend.txt")
	testenv.OK(t, err)
	defer f.Close()
	m := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("testdata/backend.txt: %q is not `name: reason`", line)
		}
		m[name] = reason
	}
	return m
}

// backendCase is one single-node model with its test data.
type backendCase struct {
	model *pb.ModelProto
	node  *pb.NodeProto
	def   *ir.OpDef
	attrs ir.Attrs
	files testFiles
}

// newCase refuses, with a general reason, what is no test of one operator in
// its newest form.
func newCase(files testFiles) (*backendCase, error) {
	c := &backendCase{model: &pb.ModelProto{}, files: files, attrs: ir.Attrs{}}
	if err := proto.Unmarshal(files["model.onnx"], c.model); err != nil {
		return nil, err
	}
	for _, n := range c.model.GetGraph().GetNode() {
		if n.GetOpType() == "Constant" && len(c.model.GetGraph().GetNode()) > 1 || c.node != nil {
			return nil, errors.New("several nodes")
		}
		c.node = n
	}
	if c.node == nil {
		return nil, errors.New("no node")
	}
	if c.def = op.Get(c.node.GetDomain(), c.node.GetOpType()); c.def == nil {
		return c, nil
	}
	for _, a := range c.node.GetAttribute() {
		i := slices.IndexFunc(c.def.Attrs, func(s ir.AttrSpec) bool { return s.Name == a.GetName() })
		if i < 0 {
			return nil, errors.New("old form of an operator")
		}
		v, err := attrOf(a)
		if err != nil {
			return nil, errUnsupported
		}
		c.attrs[a.GetName()] = v
	}
	if n := len(c.node.GetInput()); n < c.def.MinIn || c.def.MaxIn >= 0 && n > c.def.MaxIn {
		return nil, errors.New("old form of an operator")
	}
	return c, nil
}

func attrOf(a *pb.AttributeProto) (ir.Attr, error) {
	switch a.GetType() {
	case pb.AttributeProto_INT:
		return ir.Int(int(a.GetI())), nil
	case pb.AttributeProto_FLOAT:
		return ir.Float(a.GetF()), nil
	case pb.AttributeProto_STRING:
		return ir.Str(string(a.GetS())), nil
	case pb.AttributeProto_INTS:
		return ir.Attr{Kind: ir.AttrInts, Ints: a.GetInts()}, nil
	case pb.AttributeProto_FLOATS:
		return ir.Floats(a.GetFloats()...), nil
	case pb.AttributeProto_STRINGS:
		var s []string
		for _, b := range a.GetStrings() {
			s = append(s, string(b))
		}
		return ir.Strings(s...), nil
	case pb.AttributeProto_TENSOR:
		d, err := denseOf(a.GetT())
		if err != nil {
			return ir.Attr{}, err
		}
		return ir.Tens(d), nil
	}
	return ir.Attr{}, errUnsupported
}

// run evaluates every data set of the test.
func (c *backendCase) run() error {
	for k := 0; ; k++ {
		dir := fmt.Sprintf("test_data_set_%d/", k)
		if _, ok := c.files[dir+"output_0.pb"]; !ok {
			return nil
		}
		// Integers are usually shapes, axes and the like, which must be constant.
		err := c.runSet(dir, false)
		var d *ir.Diag
		if errors.As(err, &d) && (d.Code == "dynamic" || d.Code == "training") {
			err = c.runSet(dir, true)
		}
		if errors.As(err, &d) && d.Code == "dtype-unsupported" {
			return errUnsupported
		}
		if err != nil {
			return err
		}
	}
}

// sameType reports that data has the type that the model declares: some
// vectors hold bfloat16 as uint16.
func sameType(v *pb.ValueInfoProto, d *tensor.Dense) bool {
	return int(v.GetType().GetTensorType().GetElemType()) == d.DType.ONNXCode()
}

func (c *backendCase) runSet(dir string, allConst bool) error {
	g := ir.New("test")
	values := map[string]*ir.Value{}
	data := map[*ir.Value]*tensor.Dense{}
	for _, tp := range c.model.GetGraph().GetInitializer() {
		d, err := denseOf(tp)
		if err != nil {
			return err
		}
		values[tp.GetName()] = g.AddConst(tp.GetName(), d)
		data[values[tp.GetName()]] = d
	}
	k := 0
	for _, in := range c.model.GetGraph().GetInput() {
		if values[in.GetName()] != nil {
			continue
		}
		if in.GetType().GetTensorType() == nil {
			return errUnsupported
		}
		d, err := readTensor(c.files[fmt.Sprintf("%sinput_%d.pb", dir, k)])
		if err != nil {
			return err
		}
		k++
		if !sameType(in, d) {
			return errUnsupported
		}
		var v *ir.Value
		if allConst || !d.DType.IsFloat() {
			v = g.AddConst(in.GetName(), d)
		} else {
			v = g.AddInput(in.GetName(), ir.T(d.DType, d.Shape...))
		}
		values[in.GetName()], data[v] = v, d
	}
	var ins []*ir.Value
	for _, name := range c.node.GetInput() {
		ins = append(ins, values[name])
	}
	n, err := g.Add(c.def, "node", c.attrs, len(c.node.GetOutput()), ins...)
	if err != nil {
		return err
	}
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		in[i] = data[v]
	}
	out, err := ir.EvalNode(n, in)
	if err != nil {
		return err
	}
	for i, want := range c.model.GetGraph().GetOutput() {
		w, err := readTensor(c.files[fmt.Sprintf("%soutput_%d.pb", dir, i)])
		if err != nil {
			return err
		}
		if !sameType(want, w) {
			return errUnsupported
		}
		o := slices.Index(c.node.GetOutput(), want.GetName())
		if t := n.Out[o].Type; t.DType != w.DType || !slices.Equal(t.Shape, w.Shape) {
			return fmt.Errorf("output %d: inferred %s%v, want %s%v", o, t.DType, t.Shape, w.DType, w.Shape)
		}
		if s := differs(out[o], w); s != "" {
			return fmt.Errorf("output %d: %s", o, s)
		}
	}
	return nil
}
