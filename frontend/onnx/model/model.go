// SPDX-License-Identifier: Apache-2.0

// Package model reads ONNX model files: the bytes, their external data, the
// constants in them, and the bounds on what a file may ask for.
//
// A model is untrusted input: Load refuses files that are no ONNX models or would
// take too much memory, TensorData decodes constants; neither panics on any input
// or reads outside the model's folder.
package model

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Model is a decoded model file.
type Model struct {
	Proto  *pb.ModelProto
	Path   string   // as given to Load; "" for a model from memory
	Dir    string   // folder below which external data may lie; "" allows none
	SHA256 [32]byte // of the file
	Limits Limits
	// Format is that of the file, "" for ONNX. Source is a model of such a format, an
	// importer.Source, of which Proto declares inputs and outputs only; State is what it
	// keeps from one run to the next, known once it is imported.
	Format string
	Source any
	State  []State
	// Classes are the texts that numbers of an output stand for, or columns of reals, known once it is
	// imported.
	Classes map[string][]string
}

// ClassNames are the names of classes in the model's order, as its texts or its metadata have them; nil: unknown.
func (m *Model) ClassNames() []string {
	if len(m.Classes) == 1 {
		for _, names := range m.Classes {
			return names
		}
	}
	for _, p := range m.Proto.GetMetadataProps() {
		switch key := strings.ToLower(p.GetKey()); key {
		case "names", "classes", "class_names", "labels", "id2label":
			return listed(p.GetValue())
		}
	}
	return nil
}

// listed reads ["a", "b"], {0: 'a', 1: 'b'} with the numbers in order, or a,b; nil for anything else.
func listed(s string) (names []string) {
	for i, part := range strings.Split(strings.Trim(s, " [](){}\n"), ",") {
		number, name, has := strings.Cut(part, ":")
		if !has {
			name = number
		} else if strings.Trim(number, ` "'`) != strconv.Itoa(i) {
			return nil
		}
		if name = strings.Trim(name, " \"'\n"); name == "" {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// State is a value that a model keeps: an output whose value the input has in the next
// run, and before the first one.
type State struct {
	Out, In string
	Init    *tensor.Dense
}

// Format reads models of another format as ONNX models.
type Format struct {
	Is    func(b []byte) bool // of the file's content
	Parse func(b []byte, lim Limits) (*Model, error)
}

// Load reads a model file, in ONNX's format or one of the others. External data is looked
// for below the file's folder.
func Load(path string, lim Limits, others ...Format) (_ *Model, err error) {
	defer fail.Catch(&err)
	lim = lim.OrDefault()
	b := fail.Must(readFile(path, lim))
	parse := Parse
	for _, f := range others {
		if f.Is(b) {
			parse = f.Parse
		}
	}
	m, err := parse(b, lim)
	fail.If(err != nil, "%s: %w", path, err)
	m.Path = path
	m.Dir = filepath.Dir(path)
	return m, nil
}

func readFile(path string, lim Limits) ([]byte, error) {
	b, err := files.Read(path, lim.FileBytes)
	var size *files.SizeError
	var kind *files.KindError
	switch {
	case errors.As(err, &size):
		return nil, fmt.Errorf("%s: too large: %d bytes, the limit is %d; %s", path, size.Size, lim.FileBytes,
			Raise("file"))
	case errors.As(err, &kind):
		return nil, fmt.Errorf("%w; want an ONNX or TensorFlow Lite model file", err)
	}
	return b, err
}

// maxText bounds models in ONNX's text syntax, in bytes: they are written by hand.
const maxText = 16 << 20

// Parse decodes a model from memory, in the binary form or in ONNX's text syntax;
// it has no folder for external data until the caller sets Dir.
func Parse(b []byte, lim Limits) (_ *Model, err error) {
	defer fail.Catch(&err)
	lim = lim.OrDefault()
	fail.If(len(b) == 0, "the file is empty; want an ONNX or TensorFlow Lite model")
	what := guess(b)
	fail.If(what != "", "not an ONNX model: %s", what)
	p := &pb.ModelProto{}
	if isText(b) && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("<")) {
		fail.If(len(b) > maxText, "text of %d bytes; models in ONNX's text syntax may have %d, want the binary form",
			len(b), maxText)
		var err error
		if p, err = functions.ParseModel(string(b)); err != nil {
			return nil, fmt.Errorf("cannot parse as ONNX text: %w", err)
		}
	} else if err := decode(b, p, lim); err != nil {
		return nil, err
	}
	return &Model{Proto: p, SHA256: sha256.Sum256(b), Limits: lim}, nil
}

// decode reads a message after its size in memory has been estimated.
func decode(b []byte, m proto.Message, lim Limits) error {
	if err := scanWire(b, m.ProtoReflect().Descriptor(), lim); err != nil {
		return err
	}
	// scanWire bounds the depth far below this limit.
	if err := (proto.UnmarshalOptions{RecursionLimit: 4 * maxWireDepth}).Unmarshal(b, m); err != nil {
		return fmt.Errorf("cannot parse as ONNX protobuf: %w", err)
	}
	return nil
}

var mistaken = []struct {
	at       int
	is, hint string
}{
	{0, "version https://git-lfs", "it is a Git LFS pointer; run git lfs pull to get the model itself"},
	{4, "TFL3", "it is a TensorFlow Lite model; this verb takes ONNX models (nncc legalize writes one)"},
	{4, "ORTM", "it is in ONNX Runtime's own .ort format; pass the .onnx file it was made from"},
	{0, "PK\x03\x04", "it is a ZIP archive; unpack it first"},
	{0, "\x89HDF\r\n", "it is an HDF5 file, perhaps a Keras model; convert it with tf2onnx first"},
	{0, "\x1f\x8b", "it is compressed with gzip; unpack it first"},
	{0, "\x93NUMPY", "it is a NumPy array"},
	{0, "<!DOCTYPE", "it is a web page; the download went wrong"},
	{0, "<html", "it is a web page; the download went wrong"},
	{0, "ir_version:", "it is protobuf text; want the binary form"},
	{0, "graph {", "it is protobuf text; want the binary form"},
}

// guess names such a file; it would otherwise give obscure protobuf errors.
func guess(b []byte) string {
	switch first, _, _ := bytes.Cut(b[:min(len(b), 200)], []byte(".npy")); {
	case !bytes.HasPrefix(b, []byte("PK\x03\x04")):
	case len(first) < min(len(b), 200):
		return "it is an archive of arrays (.npz): samples go to --calib, --data or --input"
	case bytes.Contains(first, []byte("data.pkl")):
		return "it is a PyTorch checkpoint; export it with torch.onnx.export first (nncc help pytorch)"
	}
	for _, m := range mistaken {
		if len(b) >= m.at && bytes.HasPrefix(b[m.at:], []byte(m.is)) {
			return m.hint
		}
	}
	return ""
}

// Inputs are the names of the inputs that the caller of the model gives:
// those without an initializer, in order.
func (m *Model) Inputs() []string {
	given := map[string]bool{}
	for _, t := range m.Proto.GetGraph().GetInitializer() {
		given[t.GetName()] = true
	}
	for _, t := range m.Proto.GetGraph().GetSparseInitializer() {
		given[t.GetValues().GetName()] = true
	}
	var names []string
	for _, v := range m.Proto.GetGraph().GetInput() {
		if !given[v.GetName()] {
			names = append(names, v.GetName())
		}
	}
	return names
}

// Beyond says why a model is not one from tensors of numbers and bools to
// such: inputs or outputs of text, sequences, optionals, maps, sparse tensors,
// floats of 8 bits and less or 2-bit integers, or operators of preview domains.
// It is "" for all other models.
func (m *Model) Beyond() string {
	for _, o := range m.Proto.GetOpsetImport() {
		if d := o.GetDomain(); strings.Contains(d, "preview") {
			return "imports the preview domain " + Quote(d)
		}
	}
	g := m.Proto.GetGraph()
	for _, v := range append(append([]*pb.ValueInfoProto(nil), g.GetInput()...), g.GetOutput()...) {
		if why := beyondType(v.GetType()); why != "" {
			return Quote(v.GetName()) + " is " + why
		}
	}
	return ""
}

func beyondType(t *pb.TypeProto) string {
	switch v := t.GetValue().(type) {
	case nil:
		return ""
	case *pb.TypeProto_TensorType:
		if e := v.TensorType.GetElemType(); e != 0 {
			if _, ok := tensor.FromONNX(int(e)); !ok {
				return "a tensor of " + DataTypeName(e)
			}
		}
		return ""
	}
	return "a " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", t.GetValue()), "*pb.TypeProto_"), "Type")
}

// FuncID identifies a function, and what a node calls; Domain is as in schema.
type FuncID struct{ Domain, Name, Overload string }

// FunctionID is the identity of a function.
func FunctionID(f *pb.FunctionProto) FuncID {
	return FuncID{schema.Domain(f.GetDomain()), f.GetName(), f.GetOverload()}
}

// CallID is what a node calls.
func CallID(n *pb.NodeProto) FuncID {
	return FuncID{schema.Domain(n.GetDomain()), n.GetOpType(), n.GetOverload()}
}

// LoadFunctions reads a library of functions: an ONNX model whose functions are
// taken, or functions in ONNX's text syntax. They are not checked.
func LoadFunctions(path string, lim Limits) (_ []*pb.FunctionProto, err error) {
	defer fail.Catch(&err)
	lim = lim.OrDefault()
	b := fail.Must(readFile(path, lim))
	fs, err := ParseFunctions(b, lim)
	fail.If(err != nil, "%s: %w", path, err)
	return fs, nil
}

// ParseFunctions is LoadFunctions from memory.
func ParseFunctions(b []byte, lim Limits) (_ []*pb.FunctionProto, err error) {
	defer fail.Catch(&err)
	if isText(b) {
		fail.If(len(b) > maxText, "text of %d bytes, at most %d are read", len(b), maxText)
		return functions.Parse(string(b))
	}
	m := fail.Must(Parse(b, lim))
	fail.If(len(m.Proto.GetFunctions()) == 0, "the model holds no functions")
	return m.Proto.GetFunctions(), nil
}

// isText tells ONNX's text syntax from a binary model, whose first byte is a
// field's tag and which has zero bytes or other control characters early on.
func isText(b []byte) bool {
	head := b[:min(len(b), 512)]
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == utf8.RuneError && n == 1 &&
			len(head)-i >= utf8.UTFMax {
			return false
		}
		i += n
	}
	return len(b) > 0
}

// Release lets go of the values of the model's tensors, once a graph has copies of them:
// half of what a compilation would hold. Names, types and shapes stay; the model cannot be
// imported again.
func (m *Model) Release() {
	eachTensor(m.Proto.ProtoReflect(), func(t *pb.TensorProto) {
		t.RawData, t.StringData = nil, nil
		t.FloatData, t.DoubleData = nil, nil
		t.Int32Data, t.Int64Data, t.Uint64Data = nil, nil, nil
	})
}

// eachTensor visits the tensors of a message, at any depth.
func eachTensor(m protoreflect.Message, visit func(t *pb.TensorProto)) {
	if t, ok := m.Interface().(*pb.TensorProto); ok {
		visit(t)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				eachTensor(v.List().Get(i).Message(), visit)
			}
		default: // ONNX has no maps
			eachTensor(v.Message(), visit)
		}
		return true
	})
}

// attrFields are the fields that hold an attribute's value.
var attrFields = []struct {
	name protoreflect.Name
	typ  schema.AttrType
}{
	{"f", schema.Float}, {"i", schema.Int}, {"s", schema.String}, {"t", schema.Tensor}, {"g", schema.Graph},
	{"sparse_tensor", schema.SparseTensor}, {"tp", schema.TypeProto}, {"floats", schema.Floats}, {"ints", schema.Ints},
	{"strings", schema.Strings}, {"tensors", schema.Tensors}, {"graphs", schema.Graphs},
	{"sparse_tensors", schema.SparseTensors}, {"type_protos", schema.TypeProtos},
}

// Filled are the types of the values that an attribute has, whatever type it states.
func Filled(a *pb.AttributeProto) (types []schema.AttrType) {
	m := a.ProtoReflect()
	for _, f := range attrFields {
		if m.Has(m.Descriptor().Fields().ByName(f.name)) {
			types = append(types, f.typ)
		}
	}
	return types
}
