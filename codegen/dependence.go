// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// Dependence is what data decides of the instructions of a step on a core with some
// features: the strongest of all functions that it calls, or hands on as pointers.
// Functions that are written for a node have branches at least.
func Dependence(s *program.Step, features []string) runtimec.Dependence {
	d := runtimec.Fixed
	for _, f := range functionsOf(s) {
		x, ok := runtimec.DependenceOf(f, features)
		if !ok {
			x = runtimec.Loops
		}
		d = max(d, x)
	}
	for _, c := range s.Calls {
		if c.Code != nil {
			d = max(d, runtimec.Branches, turns(c.Code))
		} else if loopsByArgs(&c, features) {
			d = runtimec.Loops
		}
	}
	return d
}

// loopsByArgs reports a call in which data decides how often loops turn because of what the
// kernel is given: lengths of sequences, or indices of rows that are not made of words.
func loopsByArgs(c *call.Call, features []string) bool {
	x, _ := runtimec.InstructionsOf(c.Func)
	if x.Lengths != "" && isData(c, x.Lengths) {
		return true
	}
	return x.RowsByPlace(features) && isData(c, "indices") && !isWords(c, x.Rows)
}

// isData reports a parameter that is given what is computed or read while the program runs.
func isData(c *call.Call, parameter string) bool {
	at := slices.IndexFunc(runtimec.Shipped().Parameters(c.Func),
		func(p runtimec.Parameter) bool { return p.Name == parameter })
	if at < 0 || at >= len(c.Args) {
		return true
	}
	switch c.Args[at].(type) {
	case call.Const, call.Null:
		return false
	}
	return true
}

// isWords reports a field of the call's struct that is a multiple of four.
func isWords(c *call.Call, field string) bool {
	for _, a := range c.Args {
		s, ok := a.(*call.Struct)
		if !ok {
			continue
		}
		for _, f := range s.Fields {
			if text, ok := call.Number(f.Value); ok && f.Name == field {
				n, err := strconv.Atoi(text)
				return err == nil && n%4 == 0
			}
		}
	}
	return false
}

// functionsOf are the kernels that a step calls, by name or through pointers.
func functionsOf(s *program.Step) []string {
	var out []string
	for _, c := range s.Calls {
		if c.Code != nil {
			out = append(out, c.Code.Uses...)
		} else {
			out = append(out, c.Func)
		}
		for _, a := range c.Args {
			out = append(out, pointers(a)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pointers are the functions in an argument.
func pointers(a call.Arg) []string {
	var out []string
	fields := func(list []call.Field) {
		for _, f := range list {
			out = append(out, pointers(f.Value)...)
		}
	}
	switch a := a.(type) {
	case call.Func:
		out = append(out, string(a))
	case *call.Struct:
		fields(a.Fields)
	case call.Nested:
		fields(a.Fields)
	case *call.Array:
		for _, e := range a.Elems {
			fields(e.Fields)
		}
	}
	return out
}

var (
	forLine   = regexp.MustCompile(`\bfor \([^;]*;([^;]*);[^)]*\)`)
	bounded   = regexp.MustCompile(`^ *\w+ [<>]=? -?\w+ *$`)
	untilData = regexp.MustCompile(`\b(while|break|goto)\b`)
)

// turns tells functions in which data may decide how often loops turn: that have other
// loops than from number to number or to a parameter, leave loops early, or have loops
// under a condition.
func turns(c *call.Code) runtimec.Dependence {
	if untilData.MatchString(c.Body) {
		return runtimec.Loops
	}
	var conditions []bool // of the blocks around
	for line := range strings.Lines(c.Body) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "}") && len(conditions) > 0 {
			conditions = conditions[:len(conditions)-1]
		}
		if m := forLine.FindStringSubmatch(text); m != nil {
			limit := strings.TrimSpace(m[1])
			if !bounded.MatchString(m[1]) || !constant(c, limit) ||
				slices.Contains(conditions, true) {
				return runtimec.Loops
			}
		}
		if strings.HasSuffix(text, "{") {
			conditions = append(conditions, strings.Contains(text, "if (") || strings.Contains(text, "else"))
		}
	}
	return runtimec.Branches
}

// constant reports a limit, "< 5" or "<= count", that is a number or a parameter.
func constant(c *call.Code, limit string) bool {
	name := limit[strings.LastIndexByte(limit, ' ')+1:]
	if strings.TrimLeft(name, "-0123456789") == "" {
		return true
	}
	return slices.ContainsFunc(c.Params, func(p string) bool { return strings.HasSuffix(p, " "+name) })
}

// SliceText says of which steps the time depends on data, for those who call them one by one.
func (v *modelView) SliceText() string {
	var list []string
	stepOf := v.Program.StepOf()
	for i, s := range v.Program.Steps {
		if Dependence(s, v.Features) != runtimec.Fixed {
			list = append(list, strconv.Itoa(stepOf(i)))
		}
	}
	list = slices.Compact(list)
	const bounds = "`nncc profile` measures them, and says which step can take longest and how long at most."
	switch {
	case len(list) == 0:
		return "Every step executes the same instructions whatever its data is; " + bounds
	case len(list) == v.StepCount():
		return "The instructions of every step may depend on its data; " + bounds
	}
	return "The instructions of these steps may depend on their data: " + strings.Join(list, ", ") + "; " + bounds
}
