// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"math"
	"reflect"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

type row struct {
	in, out int // inputs and results that must be present
	write   func(n *node)
}

var rows map[string]row

func init() {
	rows = map[string]row{
		"ABS":               {1, 1, function(absOf, absolute, math.Abs)},
		"ADD":               {2, 1, add},
		"ADD_N":             {1, 1, addN},
		"ARG_MAX":           {2, 1, argument("ArgMax")},
		"ARG_MIN":           {2, 1, argument("ArgMin")},
		"ASSIGN_VARIABLE":   {1, 0, assignVariable},
		"ATAN2":             {2, 1, atan2},
		"AVERAGE_POOL_2D":   {1, 1, pool("AveragePool")},
		"BATCH_MATMUL":      {2, 1, batchMatMul},
		"BATCH_TO_SPACE_ND": {3, 1, batchToSpace},
		"BROADCAST_ARGS":    {2, 1, broadcastArgs},
		"BROADCAST_TO":      {2, 1, expand(0)},
		"CALL_ONCE":         {0, 0, callOnce},
		"CAST":              {1, 1, cast},
		"CEIL":              {1, 1, elementwise("Ceil")},
		"CONCATENATION":     {1, 1, concat},
		"CONV_2D":           {2, 1, conv2D},
		"COS":               {1, 1, elementwise("Cos")},
		"CUMSUM":            {2, 1, cumsum},
		"DELEGATE": {0, 0, refused("a part of the model is compiled for a delegate; give nncc the model " +
			"from before that")},
		"DENSIFY":                 {1, 1, reshape}, // constants are dense
		"DEPTHWISE_CONV_2D":       {2, 1, depthwise},
		"DEPTH_TO_SPACE":          {1, 1, space("DepthToSpace")},
		"DEQUANTIZE":              {1, 1, requantize},
		"DIV":                     {2, 1, divide},
		"DYNAMIC_UPDATE_SLICE":    {3, 1, dynamicUpdateSlice},
		"ELU":                     {1, 1, function(byFloat(elu), elementwise("Elu"), nil)},
		"EMBEDDING_LOOKUP":        {2, 1, embeddingLookup},
		"EQUAL":                   {2, 1, compare("Equal", false, equal)},
		"EXP":                     {1, 1, elementwise("Exp")},
		"EXPAND_DIMS":             {1, 1, reshape},
		"FILL":                    {2, 1, expand(1)},
		"FLOOR":                   {1, 1, elementwise("Floor")},
		"FLOOR_DIV":               {2, 1, floorDiv},
		"FLOOR_MOD":               {2, 1, floorMod},
		"FULLY_CONNECTED":         {2, 1, fullyConnected},
		"GATHER":                  {2, 1, gather},
		"GATHER_ND":               {2, 1, gatherND},
		"GELU":                    {1, 1, gelu},
		"GREATER":                 {2, 1, compare("Greater", false, above)},
		"GREATER_EQUAL":           {2, 1, compare("GreaterOrEqual", false, atLeast)},
		"HARD_SWISH":              {1, 1, function(hardSwishOf, elementwise("HardSwish"), nil)},
		"L2_NORMALIZATION":        {1, 1, l2Normalization},
		"L2_POOL_2D":              {1, 1, l2Pool},
		"LEAKY_RELU":              {1, 1, function(leakyReluOf, leakyRelu, nil)},
		"LESS":                    {2, 1, compare("Less", false, lower)},
		"LESS_EQUAL":              {2, 1, compare("LessOrEqual", false, atMost)},
		"LOG":                     {1, 1, elementwise("Log")},
		"LOGICAL_AND":             {2, 1, binaryRaw("And")},
		"LOGICAL_NOT":             {1, 1, unaryRaw("Not")},
		"LOGICAL_OR":              {2, 1, binaryRaw("Or")},
		"LOGISTIC":                {1, 1, function(q4(logisticOf), curve16("nncc.Sigmoid16", "Sigmoid", 0), nil)},
		"LOG_SOFTMAX":             {1, 1, logSoftmax},
		"MAXIMUM":                 {2, 1, binary("Max")},
		"MAX_POOL_2D":             {1, 1, pool("MaxPool")},
		"MEAN":                    {2, 1, reduceSum("ReduceMean")},
		"MINIMUM":                 {2, 1, binary("Min")},
		"MIRROR_PAD":              {2, 1, mirrorPad},
		"MUL":                     {2, 1, arithmetic("Mul")},
		"NEG":                     {1, 1, elementwise("Neg")},
		"NON_MAX_SUPPRESSION_V4":  {5, 2, nonMaxSuppression},
		"NON_MAX_SUPPRESSION_V5":  {6, 3, nonMaxSuppression},
		"NOT_EQUAL":               {2, 1, compare("Equal", true, equal)},
		"ONE_HOT":                 {4, 1, oneHot},
		"PACK":                    {1, 1, pack},
		"PAD":                     {2, 1, pad},
		"PADV2":                   {3, 1, pad},
		"POW":                     {2, 1, binary("Pow")},
		"PRELU":                   {2, 1, prelu},
		"QUANTIZE":                {1, 1, requantize},
		"RANGE":                   {3, 1, rangeOf},
		"RANK":                    {1, 1, rank},
		"READ_VARIABLE":           {1, 1, readVariable},
		"REDUCE_ALL":              {2, 1, reduceTruth("ReduceMin")},
		"REDUCE_ANY":              {2, 1, reduceTruth("ReduceMax")},
		"REDUCE_MAX":              {2, 1, reduce("ReduceMax")},
		"REDUCE_MIN":              {2, 1, reduce("ReduceMin")},
		"REDUCE_PROD":             {2, 1, reduce("ReduceProd")},
		"RELU":                    {1, 1, function(reluOf, relu, atLeast0)},
		"RELU6":                   {1, 1, function(relu6Of, activation(actRelu6), from0To6)},
		"RELU_0_TO_1":             {1, 1, func(n *node) { n.result("Clip", vals{n.real(0), n.limit(0), n.limit(1)}) }},
		"RELU_N1_TO_1":            {1, 1, activation(actReluN1)},
		"RESHAPE":                 {1, 1, reshape},
		"RESIZE_BILINEAR":         {1, 1, resizeBilinear},
		"RESIZE_NEAREST_NEIGHBOR": {1, 1, resizeNearest},
		"REVERSE_SEQUENCE":        {2, 1, reverseSequence},
		"REVERSE_V2":              {2, 1, reverse},
		"RFFT2D": {0, 0, refused("nncc has no transforms of two dimensions; use SignalRfft of TensorFlow Lite Micro " +
			"for recordings, or export DFT in ONNX")},
		"ROUND":                        {1, 1, elementwise("Round")},
		"RSQRT":                        {1, 1, function(rsqrtOf, rsqrt, nil)},
		"SCATTER_ND":                   {3, 1, scatterND},
		"SELECT":                       {3, 1, selectRows},
		"SELECT_V2":                    {3, 1, selected},
		"SHAPE":                        {1, 1, shapeOf},
		"SIGN":                         {1, 1, elementwise("Sign")},
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
		"TOPK_V2":                      {2, 2, topK},
		"TRANSPOSE":                    {2, 1, transpose},
		"TRANSPOSE_CONV":               {3, 1, transposeConv},
		"UNIDIRECTIONAL_SEQUENCE_LSTM": {1, 1, sequenceLSTM},
		"UNIQUE":                       {1, 2, unique},
		"UNPACK":                       {1, 1, unpack},
		"VAR_HANDLE":                   {0, 1, varHandle},
		"WHERE":                        {1, 1, where},
		"ZEROS_LIKE":                   {1, 1, zeros},
	}
	maps.Copy(rows, customRows)
	rows["IF"] = row{1, 1, ifElse} // not in the literal: they call what writes rows
	rows["STABLEHLO_COMPOSITE"] = row{0, 1, composite}
	rows["WHILE"] = row{1, 1, whileLoop}
}

// foreign are what the names of other tools' operators begin with, and what to do about them.
var foreign = map[string]string{
	"Flex":    "it is one of TensorFlow's own; convert the model with built-in operators only (TFLITE_BUILTINS)",
	"Lce":     "binary networks of Larq are computed by its own runtime; export the float model without its converter",
	"XC_":     "the model is compiled for xcore, by XMOS' tools; give nncc the model from before that",
	"edgetpu": "the model is compiled for the Edge TPU; give nncc the model from before edgetpu_compiler",
	"Neutron": "the model is compiled for NXP's Neutron; give nncc the model from before that",
}

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
	"ethos-u": {4, 1, ethosU},
}

// node is one operator on its way into the graph. A method that meets an error ends it.
type node struct {
	c *converter
	o *model.Op
	row
}

func (n *node) failf(format string, args ...any) { stop("unsupported", n.o.String(), format, args...) }

func (n *node) refuse(is bool, format string, args ...any) {
	if is {
		n.failf(format, args...)
	}
}

func (n *node) in(i int) *model.Tensor {
	if i < len(n.o.In) {
		return n.o.In[i]
	}
	return nil
}

func (n *node) out() *model.Tensor { return n.o.Out[0] }

func (n *node) real(i int) *ir.Value { return n.c.real(n.in(i)) }

func (n *node) raw(i int) *ir.Value { return n.c.raw(n.in(i)) }

func (n *node) data(t *model.Tensor, what string) *tensor.Dense {
	v := n.c.raw(t)
	n.refuse(v.Const == nil, "%s: tensor %q is computed at run time, want a constant", what, t.Name)
	return v.Const
}

func (n *node) known(i int) []int {
	d := n.data(n.in(i), fmt.Sprint("input ", i))
	n.room(d.Len())
	return lists.Make(d.Len(), func(j int) int { return int(d.Int(j)) })
}

func (n *node) label(what string) string { return n.c.free(n.c.place(n.out()).name + "/" + what) }

func (n *node) constant(what string, d *tensor.Dense) *ir.Value { return n.c.Const(n.label(what), d) }

func (n *node) list(v ...int) *ir.Value { return n.constant("list", tensor.Ints(v...)) }

// number is a constant of the element type of reals.
func (n *node) number(v float32) *ir.Value {
	return n.constant("number", tensor.Of([]int{}, []float32{v}))
}

func (n *node) limit(v float32) *ir.Value {
	d := tensor.Of([]int{}, []float32{v})
	if y := n.out(); !y.Quantized() {
		d = d.Cast(y.DType)
	}
	return n.constant("limit", d)
}

// add makes a part of the operator: all parts come from the node named by its first result.
func (n *node) add(op string, labels []string, in vals, attrs ...attr) vals {
	return n.c.addFrom(n.c.place(n.out()).name, op, labels, in, attrs...)
}

func (n *node) make(what, op string, in vals, attrs ...attr) *ir.Value {
	return n.add(op, []string{n.label(what)}, in, attrs...)[0]
}

// step is make where the label says nothing.
func (n *node) step(op string, in vals, attrs ...attr) *ir.Value {
	return n.make("step", op, in, attrs...)
}

func (n *node) cast(v *ir.Value, d tensor.DType) *ir.Value { return n.step("Cast", vals{v}, to(d)) }

func (n *node) reshape(v *ir.Value, shape ...int) *ir.Value {
	return n.step("Reshape", vals{v, n.list(shape...)})
}

func (n *node) transposed(v *ir.Value, perm ...int) *ir.Value {
	return n.step("Transpose", vals{v}, intsAttr("perm", perm...))
}

// give adds the operator whose result is the operator's as it is stored.
func (n *node) give(op string, in vals, attrs ...attr) {
	n.c.put(n.out(), n.add(op, []string{n.c.place(n.out()).name}, in, attrs...)[0])
}

// giveAll adds the operator whose results are all of the operator's.
func (n *node) giveAll(op string, in vals, attrs ...attr) {
	for i, v := range n.add(op, n.c.names(n.o.Out), in, attrs...) {
		n.c.put(n.o.Out[i], v)
	}
}

func (n *node) result(op string, in vals, attrs ...attr) { n.resultOf(n.out(), op, in, attrs...) }

func (n *node) resultOf(y *model.Tensor, op string, in vals, attrs ...attr) {
	n.c.store(y, n.add(op, []string{n.c.realName(y)}, in, attrs...)[0])
}

var empty = []byte{4, 0, 4, 0, 4, 0, 0, 0}

func options[T any, P interface {
	*T
	Init(b []byte, at flatbuffers.UOffsetT)
}](n *node) P {
	t, ok, err := n.o.Options(reflect.TypeFor[T]().Name())
	n.refuse(err != nil, "%v", err)
	if !ok {
		t.Bytes, t.Pos = empty, 4
	}
	o := P(new(T))
	o.Init(t.Bytes, t.Pos)
	return o
}

// Fused activations, by the format's numbers.
const (
	actNone   = 0
	actRelu   = 1
	actReluN1 = 2
	actRelu6  = 3
	actTanh   = 4
)

// activated gives the real numbers of the result: those of an operator, or of its fused
// activation.
func (n *node) activated(act int8, op string, in vals, attrs ...attr) {
	if act != actNone {
		n.fused(act, n.make("linear", op, in, attrs...))
		return
	}
	n.result(op, in, attrs...)
}

func (n *node) fused(act int8, x *ir.Value) {
	switch act {
	case actRelu:
		n.result("Relu", vals{x})
	case actRelu6:
		n.result("Clip", vals{x, n.limit(0), n.limit(6)})
	case actReluN1:
		n.result("Clip", vals{x, n.limit(-1), n.limit(1)})
	case actTanh:
		n.result("Tanh", vals{x})
	default:
		n.failf("activation %d, want one of NONE, RELU, RELU_N1_TO_1, RELU6, TANH", act)
	}
}

// channelsFirst gives the real numbers of a tensor [N,H,W,C] as [N,C,H,W]. Integers are
// transposed as integers, so that what computes on them has QuantizeLinear and
// DequantizeLinear beside it.
func (n *node) channelsFirst(t *model.Tensor) *ir.Value {
	p := n.c.place(t)
	if p.first == nil {
		p.first = n.c.like(t, n.c.add("Transpose", []string{n.c.free(p.name + "/nchw")}, vals{n.c.raw(t)},
			intsAttr("perm", 0, 3, 1, 2))[0])
	}
	return n.c.real(p.first)
}

// window gives the result of an operator on [N,C,H,W], which is transposed.
func (n *node) window(act int8, op string, in vals, attrs ...attr) {
	y := n.out()
	first := n.beside(y, "nchw")
	n.becoming(first).activated(act, op, in, attrs...)
	p := n.c.place(y)
	p.first = first
	p.later = func() *ir.Value {
		return n.add("Transpose", []string{p.name}, vals{n.c.raw(first)}, intsAttr("perm", 0, 2, 3, 1))[0]
	}
}

// beside is a tensor of the same type and quantisation, which has no value yet.
func (n *node) beside(t *model.Tensor, what string) *model.Tensor {
	at := *t
	at.Data = nil
	n.c.at[&at] = &place{name: n.label(what)}
	return &at
}

func (n *node) becoming(y *model.Tensor) *node {
	o := *n.o
	o.Out = []*model.Tensor{y}
	return &node{c: n.c, o: &o, row: n.row}
}
