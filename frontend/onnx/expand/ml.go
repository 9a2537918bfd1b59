// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// classical are the operators of ai.onnx.ml. Where the standard is silent they do as
// ONNX Runtime does.
var classical = map[string]build.Rule{
	"ArrayFeatureExtractor": featureExtractor, "Scaler": scaler, "Normalizer": normalizer,
	"Imputer": imputer, "LinearRegressor": linearRegressor, "LinearClassifier": linearClassifier,
	"LabelEncoder": labelEncoder, "CategoryMapper": categoryMapper, "OneHotEncoder": oneHotEncoder,
	"FeatureVectorizer": featureVectorizer,
	"SVMRegressor":      svmRegressor, "SVMClassifier": svmClassifier, "TreeEnsemble": treeEnsemble,
	"ZipMap": zipMap, "TreeEnsembleRegressor": treeRegressor, "TreeEnsembleClassifier": treeClassifier,
}

func featureExtractor(e *build.Node) []*ir.Value {
	x, at := e.Need(0, -1), e.Need(1, -1)
	e.Want(x.Type.Rank() >= 1, "rank", "input 0 (%s) is a scalar", x)
	if x.Type.Rank() == 1 {
		x = e.Reshape(x, 1, x.Type.Shape[0])
	}
	return []*ir.Value{e.Do("Gather", ir.Attrs{"axis": ir.Int(-1)}, x, e.Reshape(at, at.Type.Elems()))}
}

// scaler is (x - offset) * scale per feature.
func scaler(e *build.Node) []*ir.Value {
	x := e.Cast(e.Need(0, -1), tensor.F32)
	if v := e.FloatList("offset"); v != nil {
		x = e.Do("Sub", nil, x, e.Vector(v))
	}
	if v := e.FloatList("scale"); v != nil {
		x = e.Do("Mul", nil, x, e.Vector(v))
	}
	return []*ir.Value{x}
}

// normalizer divides every row by its norm; rows of zeros stay.
func normalizer(e *build.Node) []*ir.Value {
	x := e.Cast(e.Need(0, -1), tensor.F32)
	reduce := map[string]string{"L1": "ReduceL1", "L2": "ReduceL2",
		"MAX": "ReduceMax"}[e.Str("norm", "MAX", "MAX", "L1", "L2")]
	from := x
	if reduce == "ReduceMax" {
		from = e.Do("Abs", nil, x)
	}
	norm := e.Do(reduce, nil, from, e.Ints(-1))
	norm = e.Do("Where", nil, e.Do("Equal", nil, norm, e.Num(x, 0)), e.Num(x, 1), norm)
	return []*ir.Value{e.Do("Div", nil, x, norm)}
}

func imputer(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	var fill, missing *ir.Value
	if x.Type.DType.IsFloat() {
		fill = e.Cast(e.Vector(e.FloatList("imputed_value_floats")), x.Type.DType)
		what := e.Float("replaced_value_float", 0)
		if math.IsNaN(what) {
			missing = e.Do("IsNaN", nil, x)
		} else {
			missing = e.Do("Equal", nil, x, e.Num(x, what))
		}
	} else {
		fill = e.Data(build.Ints64(e.IntList("imputed_value_int64s")))
		missing = e.Do("Equal", nil, x, e.Data(tensor.Scalar(int64(e.Int("replaced_value_int64", 0)))))
	}
	delete(e.Attrs, "imputed_value_floats")
	delete(e.Attrs, "imputed_value_int64s")
	return []*ir.Value{e.Do("Where", nil, missing, fill, x)}
}

// linear is the product of rows with coefficients, [targets, features] in one
// list, plus one intercept a target.
func linear(e *build.Node, targets int) *ir.Value {
	x := e.Cast(e.Need(0, -1), tensor.F32)
	if x.Type.Rank() == 1 {
		x = e.Reshape(x, 1, x.Type.Shape[0])
	}
	e.Want(x.Type.Rank() == 2, "rank", "input 0 (%s) has shape %v, want [N, features]", x, x.Type.Shape)
	w := e.FloatList("coefficients")
	features := x.Type.Shape[1]
	e.Want(targets >= 1 && len(w) == targets*features, "attr-value", "%d coefficients for %d targets of %d features",
		len(w), targets, features)
	y := e.Do("MatMul", nil, x, e.Transpose(e.Reshape(e.Vector(w), targets, features), 1, 0))
	if b := e.FloatList("intercepts"); b != nil {
		e.Want(len(b) == targets, "attr-value", "%d intercepts for %d targets", len(b), targets)
		y = e.Do("Add", nil, y, e.Vector(b))
	}
	return y
}

var postTransforms = []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}

func postTransform(e *build.Node) string { return e.Str("post_transform", "NONE", postTransforms...) }

// transformed applies a post_transform to [N, scores] as ONNX Runtime does: for
// a single score there is PROBIT only.
func transformed(e *build.Node, y *ir.Value, how string) *ir.Value {
	last := ir.Attrs{"axis": ir.Int(-1)}
	if y.Type.Shape[y.Type.Rank()-1] == 1 && how != "PROBIT" {
		return y
	}
	switch how {
	case "PROBIT":
		return probit(e, y)
	case "LOGISTIC":
		return e.Do("Sigmoid", nil, y)
	case "SOFTMAX":
		return e.Do("Softmax", last, y)
	case "SOFTMAX_ZERO": // zeros stay, and take no part
		zero := e.Do("Equal", nil, y, e.Num(y, 0))
		soft := e.Do("Softmax", last, e.Do("Where", nil, zero, e.Num(y, math.Inf(-1)), y))
		return e.Do("Where", nil, zero, e.Num(y, 0), soft)
	}
	return y
}

// probit is the inverse of the normal distribution, sqrt(2) erfinv(2 y - 1), by
// Winitzki's approximation of erfinv, which ONNX's and ONNX Runtime's are.
func probit(e *build.Node, y *ir.Value) *ir.Value {
	const a = 0.147
	x := e.Do("Sub", nil, e.Do("Mul", nil, y, e.Num(y, 2)), e.Num(y, 1))
	log := e.Do("Log", nil, e.Do("Sub", nil, e.Num(y, 1), e.Do("Mul", nil, x, x)))
	v := e.Do("Add", nil, e.Do("Mul", nil, log, e.Num(y, 0.5)), e.Num(y, 2/(3.14159*a)))
	w := e.Do("Sqrt", nil, e.Do("Sub", nil, e.Do("Mul", nil, v, v), e.Do("Mul", nil, log, e.Num(y, 1/a))))
	root := e.Do("Sqrt", nil, e.Do("Sub", nil, w, v))
	return e.Do("Mul", nil, e.Do("Mul", nil, e.Do("Sign", nil, x), root), e.Num(y, math.Sqrt2))
}

// secondClass makes the scores of two classes of one, [N, 1], which is the
// second's: 1 - s and s, or -s and s where weights have both signs. LOGISTIC is
// the only transform that means something then.
func secondClass(e *build.Node, s *ir.Value, both bool, how string) *ir.Value {
	e.Want(how != "PROBIT", "attr-value",
		"post_transform is PROBIT, which is not defined for one score of two classes; want NONE or LOGISTIC")
	rest := e.Do("Neg", nil, s)
	switch {
	case how == "LOGISTIC":
		rest, s = e.Do("Sigmoid", nil, rest), e.Do("Sigmoid", nil, s)
	case !both:
		rest = e.Do("Sub", nil, e.Num(s, 1), s)
	}
	return e.Concat(1, rest, s)
}

// labels are the classes of a classifier.
func labels(e *build.Node, ints, text string) *ir.Value {
	v := e.IntList(ints)
	if names := e.Names(text); v == nil && names != nil {
		return e.Text([]int{len(names)}, names)
	}
	e.Want(len(v) > 0, "attr-missing", "attribute %s is missing", ints)
	return e.Data(build.Ints64(v))
}

// zipMap is the tensor of scores alone: column i is the class i of the labels.
func zipMap(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	names := e.Names("classlabels_strings")
	names = append(names, lists.Map(e.IntList("classlabels_int64s"), func(v int64) string { return fmt.Sprint(v) })...)
	y := e.Result("Identity", nil, x)
	e.Texts[y[0]] = names
	return y
}

// best is the label of the highest score of every row, the first of equals.
func best(e *build.Node, labels, scores *ir.Value) *ir.Value {
	return e.Do("Gather", nil, labels, e.Do("ArgMax", ir.Attrs{"axis": ir.Int(1), "keepdims": ir.Int(0)}, scores))
}

// above is the second of two labels for rows whose score, [N, 1], exceeds a
// bound, else the first.
func above(e *build.Node, labels, score *ir.Value, bound float64) *ir.Value {
	over := e.Do("Greater", nil, e.Reshape(score, score.Type.Shape[0]), e.Num(score, bound))
	return e.Do("Gather", nil, labels, e.Cast(over, tensor.I64))
}

func linearRegressor(e *build.Node) []*ir.Value {
	how, targets := postTransform(e), e.Int("targets", 1)
	return []*ir.Value{transformed(e, linear(e, targets), how)}
}

// linearClassifier gives the class with the highest score, and the scores.
// With one score for two classes, the second is taken where it is positive.
func linearClassifier(e *build.Node) []*ir.Value {
	labels, how := labels(e, "classlabels_ints", "classlabels_strings"), postTransform(e)
	e.Int("multi_class", 0)
	w := e.Attrs["coefficients"].Floats
	x := e.Need(0, -1)
	features := 1
	if r := x.Type.Rank(); r > 0 {
		features = max(x.Type.Shape[r-1], 1)
	}
	scores := linear(e, len(w)/features)
	n := labels.Type.Elems()
	if n == 2 && scores.Type.Shape[1] == 1 {
		return []*ir.Value{above(e, labels, scores, 0), secondClass(e, scores, false, how)}
	}
	e.Want(n == scores.Type.Shape[1], "attr-value", "%d labels for %d scores", n, scores.Type.Shape[1])
	return []*ir.Value{best(e, labels, scores), transformed(e, scores, how)}
}

func matches(e *build.Node, x, list *ir.Value) *ir.Value {
	return e.Do("Equal", nil, e.Reshape(x, append(slices.Clone(x.Type.Shape), 1)...), list)
}

// list is a list of numbers or texts among the attributes, nil where there is none.
func list(e *build.Node, what string) *ir.Value {
	if v := e.FloatList(what + "_floats"); v != nil {
		return e.Vector(v)
	}
	if v := e.IntList(what + "_int64s"); v != nil {
		return e.Data(build.Ints64(v))
	}
	if v := e.Names(what + "_strings"); v != nil {
		return e.Text([]int{len(v)}, v)
	}
	if a, _ := e.Take(what + "_tensor"); a.Tensor != nil {
		return e.Data(a.Tensor)
	} else if a.Strings != nil {
		return e.Text([]int{len(a.Strings)}, a.Strings)
	}
	return nil
}

// withDefault are values, and what stands where there is none: of texts both are of one list.
func withDefault(e *build.Node, values *ir.Value) (_, def *ir.Value) {
	whole, text := e.Int("default_int64", -1), e.Str("default_string", "_Unused")
	number := e.Float("default_float", float32(math.Copysign(0, -1))) // -0 by the schema
	given, _ := e.Take("default_tensor")
	names, isText := e.Texts[values]
	switch {
	case isText:
		all := append(lists.Map(values.Const.Int64s(), func(i int64) string { return names[i] }), text)
		n := len(all) - 1
		both := e.Text([]int{n + 1}, all)
		return e.Cut(both, 0, 0, n, 1), e.Cut(both, 0, n, n+1, 1)
	case given.Tensor != nil:
		return values, e.Data(given.Tensor)
	case values.Type.DType == tensor.F32:
		return values, e.Num(values, number)
	}
	return values, e.Data(tensor.Scalar(int64(whole)).Cast(values.Type.DType))
}

func labelEncoder(e *build.Node) []*ir.Value {
	if names := e.Names("classes_strings"); names != nil {
		return lookUpBoth(e, e.Text([]int{len(names)}, names), e.Data(build.Count[int64](len(names))))
	}
	return lookUp(e, list(e, "keys"), list(e, "values"))
}

// categoryMapper gives numbers for texts, and texts for numbers.
func categoryMapper(e *build.Node) []*ir.Value {
	numbers := e.IntList("cats_int64s")
	return lookUpBoth(e, list(e, "cats"), e.Data(build.Ints64(numbers)))
}

func lookUpBoth(e *build.Node, texts, numbers *ir.Value) []*ir.Value {
	if e.Texts[e.Need(0, -1)] == nil {
		return lookUp(e, numbers, texts)
	}
	return lookUp(e, texts, numbers)
}

// lookUp gives the value of the first key that is equal, or the default. Of texts that is known for each of
// the list.
func lookUp(e *build.Node, keys, values *ir.Value) []*ir.Value {
	x := e.Need(0, -1)
	e.Want(keys != nil && values != nil && keys.Type.Rank() == 1 && keys.Type.Elems() == values.Type.Elems() &&
		keys.Type.Elems() > 0, "attr-value", "want as many keys as values")
	known, text := e.Texts[keys]
	names, isText := e.Texts[x]
	e.Want(keys.Type.DType == x.Type.DType && text == isText, "dtype", "the keys are of type %s, input 0 (%s) of "+
		"type %s; want the same, and texts for texts", keys.Type.DType, x, x.Type.DType)
	values, def := withDefault(e, values)
	if text {
		at := make([]int, len(names))
		for i, s := range names {
			of := lists.Map(keys.Const.Int64s(), func(k int64) string { return known[k] })
			if at[i] = slices.Index(of, s); at[i] < 0 {
				at[i] = len(of)
			}
		}
		number := e.Do("Identity", nil, x)
		delete(e.Texts, number)
		place := e.Do("Gather", nil, e.Ints(at...), number)
		return []*ir.Value{e.Do("Gather", nil, e.Concat(0, values, e.Reshape(def, 1)), place)}
	}
	hit := e.Cast(matches(e, x, keys), tensor.U8)
	last := ir.Attrs{"axis": ir.Int(-1), "keepdims": ir.Int(0)}
	at := e.Do("ArgMax", last, hit)
	found := e.Cast(e.Do("ReduceMax", ir.Attrs{"keepdims": ir.Int(0)}, hit, e.Ints(-1)), tensor.Bool)
	return []*ir.Value{e.Do("Where", nil, found, e.Do("Gather", nil, values, at), e.Reshape(def))}
}

// oneHotEncoder adds a dimension with a one where an integer category is met.
func oneHotEncoder(e *build.Node) []*ir.Value {
	x, cats := e.Need(0, -1), e.IntList("cats_int64s")
	e.Want(e.Names("cats_strings") == nil, "dtype-unsupported",
		"the categories are texts; want numbers for them, made outside of the model")
	e.Want(len(cats) > 0 && e.Bool("zeros", true), "attr-value", "want integer categories and zeros for others")
	return []*ir.Value{e.Cast(matches(e, e.Cast(x, tensor.I64), e.Data(build.Ints64(cats))), tensor.F32)}
}

func featureVectorizer(e *build.Node) []*ir.Value {
	e.IntList("inputdimensions")
	var parts []*ir.Value
	for i := range e.In {
		x := e.Cast(e.Need(i, -1), tensor.F32)
		if x.Type.Rank() == 1 {
			x = e.Reshape(x, 1, x.Type.Shape[0])
		}
		parts = append(parts, x)
	}
	e.Want(len(parts) > 0, "arity", "has no input")
	return []*ir.Value{e.Concat(-1, parts...)}
}
