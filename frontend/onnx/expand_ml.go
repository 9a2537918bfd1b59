package onnx

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

const mlDomain = "ai.onnx.ml"

// mlExpansions are the operators of ai.onnx.ml, composed of standard ones.
func mlExpansions() map[string]func(e *composer) []*ir.Value {
	return map[string]func(e *composer) []*ir.Value{
		"Binarizer": binarizer, "ArrayFeatureExtractor": featureExtractor, "Scaler": scaler, "Normalizer": normalizer, "Imputer": imputer,
		"LinearRegressor": linearRegressor, "LinearClassifier": linearClassifier, "LabelEncoder": labelEncoder, "OneHotEncoder": oneHotEncoder,
		"FeatureVectorizer": featureVectorizer, "SVMRegressor": svmRegressor, "TreeEnsemble": treeEnsemble, "TreeEnsembleRegressor": treeRegressor,
	}
}

// list of floats or integers in an attribute, nil where it is absent.
func (e *composer) floatList(name string) []float32 {
	a, ok := e.take(name)
	if !ok {
		return nil
	}
	e.fail(e.kind(name, a, ir.AttrFloats, "a list of floats"))
	return a.Floats
}

func (e *composer) intList(name string) []int64 {
	v, err := e.takeInts(name)
	e.fail(err)
	return v
}

// text refuses attributes with text.
func (e *composer) text(names ...string) {
	for _, n := range names {
		if a, ok := e.take(n); ok {
			e.want(len(a.Strings) == 0 && a.String == "", "dtype", "attribute %s holds text, which has no place in firmware that computes with numbers", n)
		}
	}
}

// vector is a constant of floats.
func (e *composer) vector(v []float32) *ir.Value {
	return e.data(tensor.Of([]int{len(v)}, slices.Clone(v)))
}

func binarizer(e *composer) []*ir.Value {
	x := e.need(0, -1)
	return []*ir.Value{e.cast(e.do("Greater", nil, x, e.num(x, e.float("threshold", 0))), x.Type.DType)}
}

func featureExtractor(e *composer) []*ir.Value {
	x, at := e.need(0, -1), e.need(1, -1)
	e.want(x.Type.Rank() >= 1, "rank", "input 0 (%s) is a scalar", x)
	if x.Type.Rank() == 1 {
		x = e.reshape(x, 1, x.Type.Shape[0])
	}
	return []*ir.Value{e.do("Gather", ir.Attrs{"axis": ir.Int(-1)}, x, e.reshape(at, at.Type.Elems()))}
}

// scaler is (x - offset) * scale per feature.
func scaler(e *composer) []*ir.Value {
	x := e.cast(e.need(0, -1), tensor.F32)
	if v := e.floatList("offset"); v != nil {
		x = e.do("Sub", nil, x, e.vector(v))
	}
	if v := e.floatList("scale"); v != nil {
		x = e.do("Mul", nil, x, e.vector(v))
	}
	return []*ir.Value{x}
}

// normalizer divides every row by its norm; rows of zeros stay.
func normalizer(e *composer) []*ir.Value {
	x := e.cast(e.need(0, -1), tensor.F32)
	reduce := map[string]string{"L1": "ReduceL1", "L2": "ReduceL2", "MAX": "ReduceMax"}[e.str("norm", "MAX", "MAX", "L1", "L2")]
	from := x
	if reduce == "ReduceMax" {
		from = e.do("Abs", nil, x)
	}
	norm := e.do(reduce, nil, from, e.ints(-1))
	norm = e.do("Where", nil, e.do("Equal", nil, norm, e.num(x, 0)), e.num(x, 1), norm)
	return []*ir.Value{e.do("Div", nil, x, norm)}
}

// imputer replaces missing values, NaN or a number, per feature.
func imputer(e *composer) []*ir.Value {
	x := e.need(0, -1)
	var fill, missing *ir.Value
	if x.Type.DType.IsFloat() {
		fill = e.cast(e.vector(e.floatList("imputed_value_floats")), x.Type.DType)
		what := e.float("replaced_value_float", 0)
		if math.IsNaN(what) {
			missing = e.do("IsNaN", nil, x)
		} else {
			missing = e.do("Equal", nil, x, e.num(x, what))
		}
	} else {
		fill = e.data(ints64(e.intList("imputed_value_int64s")))
		missing = e.do("Equal", nil, x, e.data(tensor.Scalar(int64(e.int("replaced_value_int64", 0)))))
	}
	delete(e.attrs, "imputed_value_floats")
	delete(e.attrs, "imputed_value_int64s")
	return []*ir.Value{e.do("Where", nil, missing, fill, x)}
}

// linear is the product of rows with coefficients, [targets, features] in one
// list, plus one intercept a target.
func (e *composer) linear(targets int) *ir.Value {
	x := e.cast(e.need(0, -1), tensor.F32)
	if x.Type.Rank() == 1 {
		x = e.reshape(x, 1, x.Type.Shape[0])
	}
	e.want(x.Type.Rank() == 2, "rank", "input 0 (%s) has shape %v, want [N, features]", x, x.Type.Shape)
	w := e.floatList("coefficients")
	features := x.Type.Shape[1]
	e.want(targets >= 1 && len(w) == targets*features, "attr-value", "%d coefficients for %d targets of %d features", len(w), targets, features)
	y := e.do("MatMul", nil, x, e.transpose(e.reshape(e.vector(w), targets, features), 1, 0))
	if b := e.floatList("intercepts"); b != nil {
		e.want(len(b) == targets, "attr-value", "%d intercepts for %d targets", len(b), targets)
		y = e.do("Add", nil, y, e.vector(b))
	}
	return y
}

// transformed applies a post_transform to scores.
func (e *composer) transformed(y *ir.Value, how string) *ir.Value {
	switch how {
	case "LOGISTIC":
		return e.do("Sigmoid", nil, y)
	case "SOFTMAX":
		return e.do("Softmax", ir.Attrs{"axis": ir.Int(-1)}, y)
	case "SOFTMAX_ZERO": // zeros stay, and take no part
		zero := e.do("Equal", nil, y, e.num(y, 0))
		soft := e.do("Softmax", ir.Attrs{"axis": ir.Int(-1)}, e.do("Where", nil, zero, e.num(y, math.Inf(-1)), y))
		return e.do("Where", nil, zero, e.num(y, 0), soft)
	}
	e.want(how == "NONE" || how == "", "attr-value", "post_transform is %q, want NONE, LOGISTIC, SOFTMAX or SOFTMAX_ZERO", how)
	return y
}

func linearRegressor(e *composer) []*ir.Value {
	how, targets := e.str("post_transform", "NONE"), e.int("targets", 1)
	return []*ir.Value{e.transformed(e.linear(targets), how)}
}

// linearClassifier gives the class with the highest score, and the scores.
// With one score for two classes, the second is taken where it is positive.
func linearClassifier(e *composer) []*ir.Value {
	e.text("classlabels_strings")
	how, labels := e.str("post_transform", "NONE"), e.intList("classlabels_ints")
	e.int("multi_class", 0)
	w := e.attrs["coefficients"].Floats
	x := e.need(0, -1)
	features := 1
	if r := x.Type.Rank(); r > 0 {
		features = max(x.Type.Shape[r-1], 1)
	}
	scores := e.linear(len(w) / features)
	names := e.data(ints64(labels))
	if len(labels) == 2 && scores.Type.Shape[1] == 1 {
		pick := e.cast(e.do("Greater", nil, e.reshape(scores, scores.Type.Shape[0]), e.num(scores, 0)), tensor.I64)
		p := e.transformed(scores, how)
		rest := e.do("Neg", nil, p)
		if how == "LOGISTIC" {
			rest = e.do("Sub", nil, e.num(p, 1), p)
		}
		return []*ir.Value{e.do("Gather", nil, names, pick), e.concat(1, rest, p)}
	}
	e.want(len(labels) == scores.Type.Shape[1], "attr-value", "%d labels for %d scores", len(labels), scores.Type.Shape[1])
	pick := e.do("ArgMax", ir.Attrs{"axis": ir.Int(1), "keepdims": ir.Int(0)}, scores)
	return []*ir.Value{e.do("Gather", nil, names, pick), e.transformed(scores, how)}
}

// matches compares every element with a list: [..., len].
func (e *composer) matches(x, list *ir.Value) *ir.Value {
	return e.do("Equal", nil, e.reshape(x, append(slices.Clone(x.Type.Shape), 1)...), list)
}

// labelEncoder maps numbers to numbers by a list of keys and one of values.
func labelEncoder(e *composer) []*ir.Value {
	e.text("keys_strings", "values_strings", "classes_strings", "default_string")
	x := e.need(0, -1)
	var keys, values, def *ir.Value
	tensorAttr := func(name string) *ir.Value {
		if a, ok := e.take(name); ok && a.Tensor != nil {
			return e.data(a.Tensor)
		}
		return nil
	}
	if v := e.floatList("keys_floats"); v != nil {
		keys = e.vector(v)
	} else if v := e.intList("keys_int64s"); v != nil {
		keys = e.data(ints64(v))
	} else {
		keys = tensorAttr("keys_tensor")
	}
	defInt, defFloat := e.int("default_int64", -1), e.float("default_float", -0.0)
	if v := e.floatList("values_floats"); v != nil {
		values, def = e.vector(v), e.data(tensor.Scalar(float32(defFloat)))
	} else if v := e.intList("values_int64s"); v != nil {
		values, def = e.data(ints64(v)), e.data(tensor.Scalar(int64(defInt)))
	} else if values = tensorAttr("values_tensor"); values != nil {
		if def = tensorAttr("default_tensor"); def == nil {
			def = e.num(values, 0)
		}
	}
	e.want(keys != nil && values != nil && keys.Type.Rank() == 1 && keys.Type.Elems() == values.Type.Elems() && keys.Type.Elems() > 0, "attr-value", "want as many numeric keys as values")
	e.want(keys.Type.DType == x.Type.DType, "dtype", "the keys are of type %s, input 0 (%s) of type %s", keys.Type.DType, x, x.Type.DType)
	hit := e.cast(e.matches(x, keys), tensor.U8)
	last := ir.Attrs{"axis": ir.Int(-1), "keepdims": ir.Int(0)}
	at := e.do("ArgMax", last, hit)
	any := e.cast(e.do("ReduceMax", ir.Attrs{"keepdims": ir.Int(0)}, hit, e.ints(-1)), tensor.Bool)
	return []*ir.Value{e.do("Where", nil, any, e.do("Gather", nil, values, at), e.reshape(def))}
}

// oneHotEncoder adds a dimension with a one where an integer category is met.
func oneHotEncoder(e *composer) []*ir.Value {
	e.text("cats_strings")
	x, cats := e.need(0, -1), e.intList("cats_int64s")
	e.want(len(cats) > 0 && e.int("zeros", 1) != 0, "attr-value", "want integer categories and zeros for others")
	return []*ir.Value{e.cast(e.matches(e.cast(x, tensor.I64), e.data(ints64(cats))), tensor.F32)}
}

// featureVectorizer joins the columns of its inputs.
func featureVectorizer(e *composer) []*ir.Value {
	e.intList("inputdimensions")
	var parts []*ir.Value
	for i := range e.in {
		x := e.cast(e.need(i, -1), tensor.F32)
		if x.Type.Rank() == 1 {
			x = e.reshape(x, 1, x.Type.Shape[0])
		}
		parts = append(parts, x)
	}
	e.want(len(parts) > 0, "arity", "has no input")
	return []*ir.Value{e.concat(-1, parts...)}
}

// svmRegressor sums the kernels of a row and the support vectors, weighted.
func svmRegressor(e *composer) []*ir.Value {
	x := e.cast(e.need(0, 2), tensor.F32)
	kernel := e.str("kernel_type", "LINEAR", "LINEAR", "POLY", "RBF", "SIGMOID")
	params, rho, coef := e.floatList("kernel_params"), e.floatList("rho"), e.floatList("coefficients")
	vectors, count := e.floatList("support_vectors"), e.int("n_supports", 0)
	how, oneClass := e.str("post_transform", "NONE"), e.int("one_class", 0) != 0
	features := x.Type.Shape[1]
	if count == 0 { // a linear model without support vectors
		count, vectors, coef, kernel = 1, coef, []float32{1}, "LINEAR"
	}
	for len(params) < 3 {
		params = append(params, 0)
	}
	e.want(len(rho) >= 1 && features > 0 && len(vectors) == count*features && len(coef) == count, "attr-value", "%d values of %d support vectors for %d features, %d coefficients, %d rho", len(vectors), count, features, len(coef), len(rho))
	sv := e.transpose(e.reshape(e.vector(vectors), count, features), 1, 0)
	gamma, coef0, degree := e.num(x, float64(params[0])), e.num(x, float64(params[1])), e.num(x, float64(params[2]))
	k := e.do("MatMul", nil, x, sv)
	switch kernel {
	case "POLY":
		k = e.do("Pow", nil, e.do("Add", nil, e.do("Mul", nil, k, gamma), coef0), degree)
	case "SIGMOID":
		k = e.do("Tanh", nil, e.do("Add", nil, e.do("Mul", nil, k, gamma), coef0))
	case "RBF": // |x|^2 + |v|^2 - 2 x v
		xx := e.do("ReduceSumSquare", nil, x, e.ints(1))
		vv := e.do("ReduceSumSquare", nil, sv, e.ints(0))
		d := e.do("Sub", nil, e.do("Add", nil, xx, vv), e.do("Mul", nil, k, e.num(x, 2)))
		k = e.do("Exp", nil, e.do("Neg", nil, e.do("Mul", nil, d, gamma)))
	}
	y := e.do("Add", nil, e.do("MatMul", nil, k, e.reshape(e.vector(coef), count, 1)), e.num(x, float64(rho[0])))
	if oneClass {
		y = e.do("Where", nil, e.do("Greater", nil, y, e.num(x, 0)), e.num(x, 1), e.num(x, -1))
	}
	return []*ir.Value{e.transformed(y, how)}
}

// trees adds the TreeEnsemble node.
func (e *composer) trees(attrs ir.Attrs, x *ir.Value) *ir.Value {
	out, err := e.build(op.TreeEnsemble, attrs, 1, x)
	e.fail(err)
	return out[0]
}

func treeEnsemble(e *composer) []*ir.Value {
	how := e.int("post_transform", 0)
	names := []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}
	e.want(how >= 0 && how < len(names), "attr-value", "post_transform is %d, want 0 to 3", how)
	return []*ir.Value{e.transformed(e.trees(e.attrs, e.need(0, 2)), names[how])}
}

// treeRegressor brings the lists of TreeEnsembleRegressor, with nodes by tree
// and number and leaves among them, into the form of TreeEnsemble.
func treeRegressor(e *composer) []*ir.Value {
	x := e.cast(e.need(0, 2), tensor.F32)
	how := e.str("post_transform", "NONE")
	agg := slices.Index([]string{"AVERAGE", "SUM", "MIN", "MAX"}, e.str("aggregate_function", "SUM", "AVERAGE", "SUM", "MIN", "MAX"))
	targets, base := e.int("n_targets", 1), e.floatList("base_values")
	tree, node := e.intList("nodes_treeids"), e.intList("nodes_nodeids")
	yes, no, feature := e.intList("nodes_truenodeids"), e.intList("nodes_falsenodeids"), e.intList("nodes_featureids")
	values, missing := e.floatList("nodes_values"), e.intList("nodes_missing_value_tracks_true")
	modes, _ := e.take("nodes_modes")
	leafTree, leafNode, leafTarget, weights := e.intList("target_treeids"), e.intList("target_nodeids"), e.intList("target_ids"), e.floatList("target_weights")
	delete(e.attrs, "nodes_hitrates")
	k := len(tree)
	e.want(k > 0 && len(node) == k && len(yes) == k && len(no) == k && len(feature) == k && len(values) == k && len(modes.Strings) == k && (missing == nil || len(missing) == k),
		"tree", "the nodes_ attributes have different lengths, want %d values each", k)
	e.want(len(leafTree) == len(weights) && len(leafNode) == len(weights) && len(leafTarget) == len(weights), "tree", "the target_ attributes have different lengths")
	type key struct{ tree, node int64 }
	branch, leaf := map[key]int{}, map[key]int{}
	for i, t := range leafTree {
		_, twice := leaf[key{t, leafNode[i]}]
		e.want(!twice, "tree", "node %d of tree %d has more than one target", leafNode[i], t)
		leaf[key{t, leafNode[i]}] = i
	}
	var at []int
	codes := []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}
	for i := range k {
		if modes.Strings[i] != "LEAF" {
			branch[key{tree[i], node[i]}] = len(at)
			at = append(at, i)
		}
	}
	e.want(len(at) > 0, "tree", "the trees have no branches")
	var mode []uint8
	var split []float32
	var ids [6][]int // features, true, false, true leaf, false leaf, missing
	reached := map[key]bool{}
	child := func(i int, id int64) (int, int) {
		c := key{tree[i], id}
		reached[c] = true
		if b, ok := branch[c]; ok {
			return b, 0
		}
		l, ok := leaf[c]
		e.want(ok, "tree", "node %d of tree %d is neither a branch nor a leaf with a target", id, tree[i])
		return l, 1
	}
	for _, i := range at {
		m := slices.Index(codes, modes.Strings[i])
		e.want(m >= 0, "tree", "mode %q of node %d, want one of %q or LEAF", modes.Strings[i], i, codes)
		mode, split = append(mode, uint8(m)), append(split, values[i])
		t, tl := child(i, yes[i])
		f, fl := child(i, no[i])
		miss := 0
		if missing != nil {
			miss = int(missing[i])
		}
		for j, v := range []int{int(feature[i]), t, f, tl, fl, miss} {
			ids[j] = append(ids[j], v)
		}
	}
	var roots []int
	for k, i := range at {
		if !reached[key{tree[i], node[i]}] {
			roots = append(roots, k)
		}
	}
	var target []int
	for _, t := range leafTarget {
		target = append(target, int(t))
	}
	list := func(v []float32) *tensor.Dense { return tensor.Of([]int{len(v)}, slices.Clone(v)) }
	y := e.trees(ir.Attrs{"aggregate_function": ir.Int(agg), "n_targets": ir.Int(targets), "leaf_targetids": ir.Ints(target...), "leaf_weights": ir.Tens(list(weights)),
		"nodes_featureids": ir.Ints(ids[0]...), "nodes_truenodeids": ir.Ints(ids[1]...), "nodes_falsenodeids": ir.Ints(ids[2]...), "nodes_trueleafs": ir.Ints(ids[3]...),
		"nodes_falseleafs": ir.Ints(ids[4]...), "nodes_missing_value_tracks_true": ir.Ints(ids[5]...), "nodes_modes": ir.Tens(tensor.Of([]int{len(mode)}, mode)),
		"nodes_splits": ir.Tens(list(split)), "tree_roots": ir.Ints(roots...)}, x)
	if base != nil {
		y = e.do("Add", nil, y, e.vector(base))
	}
	return []*ir.Value{e.transformed(y, how)}
}
