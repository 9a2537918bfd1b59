package onnx

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

const mlDomain = "ai.onnx.ml"

// mlExpansions are the operators of ai.onnx.ml, composed of standard ones.
func mlExpansions() map[string]func(e *composer) []*ir.Value {
	return map[string]func(e *composer) []*ir.Value{
		"Binarizer": binarizer, "ArrayFeatureExtractor": featureExtractor, "Scaler": scaler, "Normalizer": normalizer, "Imputer": imputer,
		"LinearRegressor": linearRegressor, "LinearClassifier": linearClassifier, "LabelEncoder": labelEncoder, "OneHotEncoder": oneHotEncoder,
		"FeatureVectorizer": featureVectorizer, "SVMRegressor": svmRegressor, "SVMClassifier": svmClassifier,
		"TreeEnsemble": treeEnsemble, "TreeEnsembleRegressor": treeRegressor, "TreeEnsembleClassifier": treeClassifier,
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

// postTransforms are the values of post_transform, in TreeEnsemble's order.
var postTransforms = []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}

func (e *composer) postTransform() string { return e.str("post_transform", "NONE", postTransforms...) }

// transformed applies a post_transform to [N, scores] as ONNX Runtime does: for
// a single score there is PROBIT only.
func (e *composer) transformed(y *ir.Value, how string) *ir.Value {
	last := ir.Attrs{"axis": ir.Int(-1)}
	if y.Type.Shape[y.Type.Rank()-1] == 1 && how != "PROBIT" {
		return y
	}
	switch how {
	case "PROBIT":
		return e.probit(y)
	case "LOGISTIC":
		return e.do("Sigmoid", nil, y)
	case "SOFTMAX":
		return e.do("Softmax", last, y)
	case "SOFTMAX_ZERO": // zeros stay, and take no part
		zero := e.do("Equal", nil, y, e.num(y, 0))
		soft := e.do("Softmax", last, e.do("Where", nil, zero, e.num(y, math.Inf(-1)), y))
		return e.do("Where", nil, zero, e.num(y, 0), soft)
	}
	return y
}

// probit is the inverse of the normal distribution, sqrt(2) erfinv(2 y - 1), by
// Winitzki's approximation of erfinv, which ONNX's and ONNX Runtime's are.
func (e *composer) probit(y *ir.Value) *ir.Value {
	const a = 0.147
	x := e.do("Sub", nil, e.do("Mul", nil, y, e.num(y, 2)), e.num(y, 1))
	log := e.do("Log", nil, e.do("Sub", nil, e.num(y, 1), e.do("Mul", nil, x, x)))
	v := e.do("Add", nil, e.do("Mul", nil, log, e.num(y, 0.5)), e.num(y, 2/(3.14159*a)))
	w := e.do("Sqrt", nil, e.do("Sub", nil, e.do("Mul", nil, v, v), e.do("Mul", nil, log, e.num(y, 1/a))))
	root := e.do("Sqrt", nil, e.do("Sub", nil, w, v))
	return e.do("Mul", nil, e.do("Mul", nil, e.do("Sign", nil, x), root), e.num(y, math.Sqrt2))
}

// secondClass makes the scores of two classes of one, [N, 1], which is the
// second's: 1 - s and s, or -s and s where weights have both signs. LOGISTIC is
// the only transform that means something then.
func (e *composer) secondClass(s *ir.Value, both bool, how string) *ir.Value {
	e.want(how != "PROBIT", "attr-value", "post_transform is PROBIT, which is not defined for one score of two classes; want NONE or LOGISTIC")
	rest := e.do("Neg", nil, s)
	switch {
	case how == "LOGISTIC":
		rest, s = e.do("Sigmoid", nil, rest), e.do("Sigmoid", nil, s)
	case !both:
		rest = e.do("Sub", nil, e.num(s, 1), s)
	}
	return e.concat(1, rest, s)
}

// labels are the classes of a classifier, which must be numbers.
func (e *composer) labels(ints, text string) *ir.Value {
	e.text(text)
	v := e.intList(ints)
	e.want(len(v) > 0, "attr-missing", "attribute %s is missing", ints)
	return e.data(ints64(v))
}

// best is the label of the highest score of every row, the first of equals.
func (e *composer) best(labels, scores *ir.Value) *ir.Value {
	return e.do("Gather", nil, labels, e.do("ArgMax", ir.Attrs{"axis": ir.Int(1), "keepdims": ir.Int(0)}, scores))
}

// above is the second of two labels for rows whose score, [N, 1], exceeds a
// bound, else the first.
func (e *composer) above(labels, score *ir.Value, bound float64) *ir.Value {
	over := e.do("Greater", nil, e.reshape(score, score.Type.Shape[0]), e.num(score, bound))
	return e.do("Gather", nil, labels, e.cast(over, tensor.I64))
}

func linearRegressor(e *composer) []*ir.Value {
	how, targets := e.postTransform(), e.int("targets", 1)
	return []*ir.Value{e.transformed(e.linear(targets), how)}
}

// linearClassifier gives the class with the highest score, and the scores.
// With one score for two classes, the second is taken where it is positive.
func linearClassifier(e *composer) []*ir.Value {
	labels, how := e.labels("classlabels_ints", "classlabels_strings"), e.postTransform()
	e.int("multi_class", 0)
	w := e.attrs["coefficients"].Floats
	x := e.need(0, -1)
	features := 1
	if r := x.Type.Rank(); r > 0 {
		features = max(x.Type.Shape[r-1], 1)
	}
	scores := e.linear(len(w) / features)
	n := labels.Type.Elems()
	if n == 2 && scores.Type.Shape[1] == 1 {
		return []*ir.Value{e.above(labels, scores, 0), e.secondClass(scores, false, how)}
	}
	e.want(n == scores.Type.Shape[1], "attr-value", "%d labels for %d scores", n, scores.Type.Shape[1])
	return []*ir.Value{e.best(labels, scores), e.transformed(scores, how)}
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
	defInt, defFloat := e.int("default_int64", -1), e.float("default_float", float32(math.Copysign(0, -1))) // -0 by the schema
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
