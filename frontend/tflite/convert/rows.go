// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// row says how an operator becomes ONNX.
type row struct {
	in, out int // inputs and results that must be present
	write   func(n *operands) error
}

// rows are the operators that nncc reads, by their names in the format.
var rows map[string]row

func init() {
	rows = map[string]row{
		"ABS":                          {1, 1, function(absOf, absolute, math.Abs)},
		"ADD":                          {2, 1, add},
		"ADD_N":                        {1, 1, addN},
		"ARG_MAX":                      {2, 1, argument("ArgMax")},
		"ARG_MIN":                      {2, 1, argument("ArgMin")},
		"ASSIGN_VARIABLE":              {1, 0, assignVariable},
		"AVERAGE_POOL_2D":              {1, 1, pool("AveragePool")},
		"BATCH_MATMUL":                 {2, 1, batchMatMul},
		"BATCH_TO_SPACE_ND":            {3, 1, batchToSpace},
		"BROADCAST_ARGS":               {2, 1, broadcastArgs},
		"BROADCAST_TO":                 {2, 1, expand(0)},
		"CALL_ONCE":                    {0, 0, callOnce},
		"CAST":                         {1, 1, cast},
		"CEIL":                         {1, 1, elementwise("Ceil")},
		"CONCATENATION":                {1, 1, concat},
		"CONV_2D":                      {2, 1, conv2D},
		"COS":                          {1, 1, elementwise("Cos")},
		"CUMSUM":                       {2, 1, cumsum},
		"DEPTHWISE_CONV_2D":            {2, 1, depthwise},
		"DEPTH_TO_SPACE":               {1, 1, space("DepthToSpace")},
		"DEQUANTIZE":                   {1, 1, requantize},
		"DIV":                          {2, 1, divide},
		"DYNAMIC_UPDATE_SLICE":         {3, 1, dynamicUpdateSlice},
		"ELU":                          {1, 1, function(byFloat(elu), elementwise("Elu"), nil)},
		"EMBEDDING_LOOKUP":             {2, 1, embeddingLookup},
		"EQUAL":                        {2, 1, compare("Equal", false, equal)},
		"EXP":                          {1, 1, elementwise("Exp")},
		"EXPAND_DIMS":                  {1, 1, reshape},
		"FILL":                         {2, 1, expand(1)},
		"FLOOR":                        {1, 1, elementwise("Floor")},
		"FLOOR_DIV":                    {2, 1, floorDiv},
		"FLOOR_MOD":                    {2, 1, floorMod},
		"FULLY_CONNECTED":              {2, 1, fullyConnected},
		"GATHER":                       {2, 1, gather},
		"GATHER_ND":                    {2, 1, gatherND},
		"GREATER":                      {2, 1, compare("Greater", false, above)},
		"GREATER_EQUAL":                {2, 1, compare("GreaterOrEqual", false, atLeast)},
		"HARD_SWISH":                   {1, 1, function(hardSwishOf, elementwise("HardSwish"), nil)},
		"L2_NORMALIZATION":             {1, 1, l2Normalization},
		"L2_POOL_2D":                   {1, 1, l2Pool},
		"LEAKY_RELU":                   {1, 1, function(leakyReluOf, leakyRelu, nil)},
		"LESS":                         {2, 1, compare("Less", false, lower)},
		"LESS_EQUAL":                   {2, 1, compare("LessOrEqual", false, atMost)},
		"LOG":                          {1, 1, elementwise("Log")},
		"LOGICAL_AND":                  {2, 1, binaryRaw("And")},
		"LOGICAL_NOT":                  {1, 1, unaryRaw("Not")},
		"LOGICAL_OR":                   {2, 1, binaryRaw("Or")},
		"LOGISTIC":                     {1, 1, function(q4(logisticOf), curve16("nncc.Sigmoid16", "Sigmoid", 0), nil)},
		"LOG_SOFTMAX":                  {1, 1, logSoftmax},
		"MAXIMUM":                      {2, 1, binary("Max")},
		"MAX_POOL_2D":                  {1, 1, pool("MaxPool")},
		"MEAN":                         {2, 1, reduceSum("ReduceMean")},
		"MINIMUM":                      {2, 1, binary("Min")},
		"MIRROR_PAD":                   {2, 1, mirrorPad},
		"MUL":                          {2, 1, arithmetic("Mul")},
		"NEG":                          {1, 1, elementwise("Neg")},
		"NOT_EQUAL":                    {2, 1, compare("Equal", true, equal)},
		"PACK":                         {1, 1, pack},
		"PAD":                          {2, 1, pad},
		"PADV2":                        {3, 1, pad},
		"PRELU":                        {2, 1, prelu},
		"QUANTIZE":                     {1, 1, requantize},
		"READ_VARIABLE":                {1, 1, readVariable},
		"REDUCE_ALL":                   {2, 1, reduceAll},
		"REDUCE_MAX":                   {2, 1, reduce("ReduceMax")},
		"REDUCE_MIN":                   {2, 1, reduce("ReduceMin")},
		"RELU":                         {1, 1, function(reluOf, relu, atLeast0)},
		"RELU6":                        {1, 1, function(relu6Of, activated(actRelu6), from0To6)},
		"RELU_N1_TO_1":                 {1, 1, activated(actReluN1)},
		"RESHAPE":                      {1, 1, reshape},
		"RESIZE_BILINEAR":              {1, 1, resizeBilinear},
		"RESIZE_NEAREST_NEIGHBOR":      {1, 1, resizeNearest},
		"REVERSE_V2":                   {2, 1, reverse},
		"ROUND":                        {1, 1, elementwise("Round")},
		"RSQRT":                        {1, 1, function(rsqrtOf, rsqrt, nil)},
		"SELECT_V2":                    {3, 1, selected},
		"SHAPE":                        {1, 1, shapeOf},
		"SIN":                          {1, 1, elementwise("Sin")},
		"SLICE":                        {3, 1, slice},
		"SOFTMAX":                      {1, 1, softmax},
		"SPACE_TO_BATCH_ND":            {3, 1, spaceToBatch},
		"SPACE_TO_DEPTH":               {1, 1, space("SpaceToDepth")},
		"SPLIT":                        {2, 1, split(1, 0)},
		"SPLIT_V":                      {3, 1, split(0, 2)},
		"SQRT":                         {1, 1, elementwise("Sqrt")},
		"SQUARE":                       {1, 1, square},
		"SQUARED_DIFFERENCE":           {2, 1, squaredDifference},
		"SQUEEZE":                      {1, 1, reshape},
		"STRIDED_SLICE":                {4, 1, stridedSlice},
		"SUB":                          {2, 1, subtract},
		"SUM":                          {2, 1, reduceSum("ReduceSum")},
		"SVDF":                         {3, 1, svdf},
		"TANH":                         {1, 1, function(q4(tanhOf), curve16("nncc.Tanh16", "Tanh", 1), nil)},
		"TILE":                         {2, 1, tile},
		"TRANSPOSE":                    {2, 1, transpose},
		"TRANSPOSE_CONV":               {3, 1, transposeConv},
		"UNIDIRECTIONAL_SEQUENCE_LSTM": {1, 1, sequenceLSTM},
		"UNPACK":                       {1, 1, unpack},
		"VAR_HANDLE":                   {0, 1, varHandle},
		"ZEROS_LIKE":                   {1, 1, zeros},
	}
	maps.Copy(rows, customRows)
	rows["IF"] = row{1, 1, ifElse} // not in the literal: they call what writes rows
	rows["WHILE"] = row{1, 1, whileLoop}
}

// customRows are operators that have no number in the format.
var customRows = map[string]row{
	"CIRCULAR_BUFFER":                     {1, 1, circularBuffer},
	"SignalDelay":                         {1, 1, signalDelay},
	"SignalEnergy":                        {1, 1, signalEnergy},
	"SignalFftAutoScale":                  {1, 2, signalAutoScale},
	"SignalFilterBank":                    {6, 1, filterBank},
	"SignalFilterBankLog":                 {1, 1, signalLog},
	"SignalFilterBankSquareRoot":          {2, 1, signalRoot},
	"SignalFilterBankSpectralSubtraction": {1, 2, spectralSubtraction},
	"SignalFramer":                        {1, 2, signalFramer},
	"SignalIrfft":                         {1, 1, signalFFT(1)},
	"SignalRfft":                          {1, 1, signalFFT(0)},
	"SignalOverlapAdd":                    {1, 1, signalOverlapAdd},
	"SignalPCAN":                          {3, 1, pcan},
	"SignalStacker":                       {1, 2, signalStacker},
	"SignalWindow":                        {2, 1, signalWindow},
	"TFLite_Detection_PostProcess":        {3, 4, detectionPostprocess},
	"TFLM_DECODE": {0, 0, refused("the model's tensors are compressed for TensorFlow Lite Micro; give nncc the model " +
		"from before the compression")},
	"ethos-u": {0, 0, refused("the model is compiled for an Ethos-U accelerator, by Vela; give nncc the model from " +
		"before that")},
}

// operands are one operator being written.
type operands struct {
	c *converter
	o *model.Op
	row
}

// in is input i, nil where it is absent.
func (n *operands) in(i int) *model.Tensor {
	if i < len(n.o.In) {
		return n.o.In[i]
	}
	return nil
}

func (n *operands) out() *model.Tensor { return n.o.Out[0] }

func (n *operands) real(i int) string { return n.c.real(n.in(i)) }

func (n *operands) raw(i int) string { return n.c.raw(n.in(i)) }

// ints are the elements of input i, which has to be a constant.
func (n *operands) ints(i int) ([]int, error) {
	d, err := n.in(i).Const()
	if err != nil {
		return nil, fmt.Errorf("input %d: %w", i, err)
	}
	v := make([]int, d.Len())
	for j := range v {
		v[j] = int(d.Int(j))
	}
	return v, nil
}

// list is a constant of integers beside the operator's result.
func (n *operands) list(what string, v ...int) string {
	return n.c.constant(n.c.fresh(n.out(), what), tensor.Ints(v...))
}

// number is a constant of the element type of reals.
func (n *operands) number(what string, v float32) string {
	return n.c.constant(n.c.fresh(n.out(), what), tensor.Of([]int{}, []float32{v}))
}

// limit is a constant of the type of the result's numbers.
func (n *operands) limit(what string, v float32) string {
	d := tensor.Of([]int{}, []float32{v})
	if y := n.out(); !y.Quantized() {
		d = d.Cast(y.DType)
	}
	return n.c.constant(n.c.fresh(n.out(), what), d)
}

// empty is a table without fields: all of them have their defaults.
var empty = []byte{4, 0, 4, 0, 4, 0, 0, 0}

// options gives the operator's options by their name in the schema; defaults where the
// file has none.
func (n *operands) options(name string, init func(b []byte, at flatbuffers.UOffsetT)) error {
	t, ok, err := n.o.Options(name)
	if err != nil {
		return err
	}
	if !ok {
		t.Bytes, t.Pos = empty, 4
	}
	init(t.Bytes, t.Pos)
	return nil
}

// Fused activations, by the format's numbers.
const (
	actNone   = 0
	actRelu   = 1
	actReluN1 = 2
	actRelu6  = 3
	actTanh   = 4
)

// activate writes the activation of a value, which becomes the real numbers of the
// result; plain is where they are without one.
func (n *operands) activate(act int8, plain func(result string)) error {
	t := n.out()
	final := n.c.realOut(t)
	if act == actNone {
		plain(final)
		n.c.store(t)
		return nil
	}
	before := n.c.fresh(t, "linear")
	plain(before)
	if err := n.activation(act, before, final); err != nil {
		return err
	}
	n.c.store(t)
	return nil
}

func (n *operands) activation(act int8, x, y string) error {
	switch act {
	case actRelu:
		n.c.node("Relu", y, []string{x})
	case actRelu6:
		n.c.node("Clip", y, []string{x, n.limit("least", 0), n.limit("most", 6)})
	case actReluN1:
		n.c.node("Clip", y, []string{x, n.limit("least", -1), n.limit("most", 1)})
	case actTanh:
		n.c.node("Tanh", y, []string{x})
	default:
		return fmt.Errorf("activation %d, want one of NONE, RELU, RELU_N1_TO_1, RELU6, TANH", act)
	}
	return nil
}

// channelsFirst gives the real numbers of a tensor [N,H,W,C] as [N,C,H,W]. Integers are
// transposed as integers, so that what computes on them has QuantizeLinear and
// DequantizeLinear beside it.
func (n *operands) channelsFirst(t *model.Tensor) string {
	first := n.c.first(t)
	if first == nil {
		at := *t
		first = &at
		first.Name = n.c.fresh(t, "nchw")
		n.c.firsts[t.Name] = first
		n.c.node("Transpose", first.Name, []string{n.c.raw(t)}, intsAttr("perm", 0, 3, 1, 2))
	}
	return n.c.real(first)
}

// window writes an operator on [N,C,H,W] of which the result is transposed.
func (n *operands) window(act int8, op string, in []string, attrs ...*pb.AttributeProto) error {
	t := *n.out()
	t.Name, t.Data = n.c.fresh(n.out(), "nchw"), nil
	o := *n.o
	o.Out = append([]*model.Tensor{&t}, n.o.Out[1:]...)
	inner := &operands{c: n.c, o: &o, row: n.row}
	err := inner.activate(act, func(result string) { n.c.node(op, result, in, attrs...) })
	n.c.firsts[n.out().Name] = &t
	y := n.out().Name
	n.c.later[y] = func() { n.c.node("Transpose", y, []string{t.Name}, intsAttr("perm", 0, 2, 3, 1)) }
	return err
}
