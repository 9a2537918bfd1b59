package surgery

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/tensor"
)

// model finds a model of the run by name; "" is the current one.
func (s *session) model(name string) (*entry, error) {
	if name == "" {
		return s.cur(), nil
	}
	if e := s.models[name]; e != nil {
		return e, nil
	}
	all := sortedKeys(s.models)
	return nil, fmt.Errorf("no model is called %s%s; there are %s", quote(name), near(name, all), quoted(all))
}

// put makes a model current; it is compared with ref.
func (s *session) put(name string, m, ref *Model, refName string) error {
	if name == "" {
		return errors.New("the model needs a name")
	}
	if old := s.models[name]; old != nil && name != s.at {
		return fmt.Errorf("a model is called %s already", quote(name))
	}
	s.models[name] = &entry{m: m, ref: ref, refName: refName}
	s.at = name
	return nil
}

func modelSteps() []*stepDef {
	type extract struct {
		Inputs  []string `yaml:"inputs"`
		Outputs []string `yaml:"outputs"`
		As      string   `yaml:"as"`
	}
	type part struct {
		Name    string   `yaml:"name"`
		Inputs  []string `yaml:"inputs"`
		Outputs []string `yaml:"outputs"`
		File    string   `yaml:"file"`
	}
	type split struct {
		Parts []part `yaml:"parts"`
	}
	type use struct {
		Model string `yaml:"model"`
	}
	type merge struct {
		Models   []string          `yaml:"models"`
		Prefixes []string          `yaml:"prefixes"`
		IOMap    map[string]string `yaml:"io_map"`
		Outputs  []string          `yaml:"outputs"`
		As       string            `yaml:"as"`
		Against  string            `yaml:"against"`
	}
	type load struct {
		File string `yaml:"file"`
		As   string `yaml:"as"`
	}
	type save struct {
		Model string `yaml:"model"`
		File  string `yaml:"file"`
	}
	type version struct {
		IR     int64  `yaml:"ir"`
		Opset  int64  `yaml:"opset"`
		Domain string `yaml:"domain"`
	}
	type prefix struct {
		Prefix string `yaml:"prefix"`
	}
	type nothing struct{}
	return []*stepDef{
		def("extract", "keep the part of the model between values; the result is compared with the same part of the model as it was; as: a name, the model stays beside it",
			`extract: {inputs: [images], outputs: [/backbone/Relu_output_0]}`,
			func(s *session, a *extract) (string, error) {
				x, err := s.cur().m.Extract(a.Inputs, a.Outputs)
				if err != nil {
					return "", err
				}
				text := fmt.Sprintf("%d of %d nodes", len(x.graph().Node), len(s.cur().m.graph().Node))
				name := a.As
				if name == "" {
					name = s.at
				}
				return text, s.put(name, x, x.Clone(), "the part as it was cut out")
			}),
		def("split", "cut the model into parts, which together compute what it does; the last part becomes the current model; file: also save the part as it is",
			`split: {parts: [{name: head, inputs: [x], outputs: [t]}, {name: tail, inputs: [t], outputs: [y]}]}`,
			func(s *session, a *split) (string, error) {
				var parts []Part
				var list []string
				for _, p := range a.Parts {
					parts = append(parts, Part{p.Name, p.Inputs, p.Outputs})
				}
				if len(parts) == 0 {
					return "", errors.New("no parts are given")
				}
				models, err := s.cur().m.Split(parts)
				if err != nil {
					return "", err
				}
				for i, x := range models {
					if err := s.put(parts[i].Name, x, x.Clone(), parts[i].Name+" as it was cut out"); err != nil {
						return "", err
					}
					if f := a.Parts[i].File; f != "" {
						if err := s.save(s.cur(), f); err != nil {
							return "", fmt.Errorf("part %s: %w", quote(parts[i].Name), err)
						}
					}
					list = append(list, fmt.Sprintf("%s (%d nodes)", parts[i].Name, len(x.graph().Node)))
				}
				return strings.Join(list, ", "), nil
			}),
		reading(def("use", "make another model the current one, which the steps edit and which becomes the result",
			`use: {model: head}`,
			func(s *session, a *use) (string, error) {
				if a.Model == "" {
					return "", errors.New("no model is named")
				}
				if _, err := s.model(a.Model); err != nil {
					return "", err
				}
				s.at = a.Model
				return quote(a.Model), nil
			})),
		def("merge", "put models behind each other: outputs go to inputs of the same name, or as io_map says (output: input); prefixes for inner names; the result, called as (default merged), is compared with against (default original)",
			`merge: {models: [head, tail], prefixes: ["", "tail/"]}`,
			func(s *session, a *merge) (string, error) {
				var ms []*Model
				for _, n := range a.Models {
					if n == "" {
						return "", errors.New("a model without a name is to be merged")
					}
					e, err := s.model(n)
					if err != nil {
						return "", err
					}
					ms = append(ms, e.m)
				}
				m, err := Merge(ms, MergeOptions{Names: a.Models, Prefixes: a.Prefixes, Connect: a.IOMap, Outputs: a.Outputs})
				if err != nil {
					return "", err
				}
				name, refName := a.As, a.Against
				if name == "" {
					name = "merged"
				}
				ref := s.original
				if refName == "" || refName == mainName {
					refName = mainName
				} else {
					e, err := s.model(refName)
					if err != nil {
						return "", err
					}
					ref = e.ref
				}
				text := fmt.Sprintf("%d nodes, inputs %s, outputs %s", len(m.graph().Node), quoted(m.InputNames()), quoted(m.OutputNames()))
				if err := s.put(name, m, ref, refName); err != nil {
					return "", err
				}
				s.cur().edited = true
				return text, nil
			}),
		def("prefix_names", "put a prefix in front of the names of nodes, inner values and constants; graph inputs and outputs keep theirs",
			`prefix_names: {prefix: "encoder/"}`,
			func(s *session, a *prefix) (string, error) {
				if a.Prefix == "" {
					return "", errors.New("no prefix is given")
				}
				s.cur().m.Prefix(a.Prefix)
				return quote(a.Prefix), nil
			}),
		reading(def("load", "read another model beside the current one",
			`load: {file: tail.onnx, as: tail}`,
			func(s *session, a *load) (string, error) {
				if a.As == "" || s.models[a.As] != nil {
					return "", fmt.Errorf("as: %s; want a name that no model has", quote(a.As))
				}
				path := a.File
				if !filepath.IsAbs(path) {
					path = filepath.Join(s.script.Dir, path)
				}
				s.res.Read = append(s.res.Read, path)
				m, err := Load(path, s.opt.Limits)
				if err != nil {
					return "", err
				}
				m.Functions, m.Dims = s.original.Functions, s.original.Dims
				s.models[a.As] = &entry{m: m, ref: m.Clone(), refName: a.As + " as it was read"}
				return fmt.Sprintf("%s: %d nodes", quote(a.As), len(m.graph().Node)), nil
			})),
		reading(def("save", "write a model (default: the current one), checked and with shapes, beside the result",
			`save: {model: head, file: parts/head.onnx}`,
			func(s *session, a *save) (string, error) {
				e, err := s.model(a.Model)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("file %s", quote(a.File)), s.save(e, a.File)
			})),
		def("simplify", "compute what is known from constants, take out nodes that do nothing, join Transposes and Reshapes, delete what nothing reads",
			`simplify:`,
			func(s *session, a *nothing) (string, error) {
				d, err := s.cur().m.Simplify()
				return fmt.Sprintf("%d nodes computed, %d taken out, %d nodes and constants that nothing reads deleted", d.Folded, d.Bypassed, d.Pruned), err
			}),
		def("prune", "delete nodes and constants that no graph output depends on",
			`prune:`,
			func(s *session, a *nothing) (string, error) {
				ns, is := s.cur().m.Prune()
				return fmt.Sprintf("deleted %d nodes and %d constants", len(ns), len(is)), nil
			}),
		reading(def("infer_shapes", "drop the shapes that the file states and infer them anew, those of outputs, too",
			`infer_shapes:`,
			func(s *session, a *nothing) (string, error) {
				changed, err := s.cur().m.InferShapes()
				text := fmt.Sprintf("%d values have shapes", len(s.cur().m.graph().ValueInfo))
				if len(changed) > 0 {
					text += "; " + strings.Join(changed, "; ")
				}
				return text, err
			})),
		reading(def("clear_shapes", "drop the shapes of inner values",
			`clear_shapes:`,
			func(s *session, a *nothing) (string, error) {
				return fmt.Sprintf("dropped %d", s.cur().m.ClearShapes()), nil
			})),
		reading(def("check", "stop unless the model is valid ONNX by now, with shapes that fit",
			`check:`,
			func(s *session, a *nothing) (string, error) {
				m := s.cur().m
				if err := m.undefined(); err != nil {
					return "", err
				}
				if p := m.Shapes().Problems; len(p) > 0 {
					return "", errors.Join(p...)
				}
				return "no findings", m.Checked()
			})),
		def("set_version", "set IR version and opset; nodes that would mean something else are an error",
			`set_version: {ir: 8, opset: 17}`,
			func(s *session, a *version) (string, error) {
				if a.IR == 0 && a.Opset == 0 {
					return "", errors.New("want ir, opset or both")
				}
				m := s.cur().m
				err := m.SetVersion(a.IR, a.Domain, a.Opset)
				return fmt.Sprintf("IR version %d, opset %d", m.Proto.GetIrVersion(), m.Opset(a.Domain)), err
			}),
		verifyStep(),
		verifySplitStep(),
	}
}

// save keeps a copy of a model, made valid, for the folder of the result.
func (s *session) save(e *entry, file string) error {
	path, err := localPath(file)
	if err != nil {
		return err
	}
	c := &entry{m: e.m.Clone()}
	if err := s.seal(c); err != nil {
		return err
	}
	c.m.Proto.MetadataProps = append(slices.DeleteFunc(c.m.Proto.MetadataProps, isMark), &pb.StringStringEntryProto{Key: proto.String(markKey), Value: proto.String(markValue)})
	b, err := c.m.Bytes()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(s.res.Files, func(f File) bool { return f.Path == path }) {
		return fmt.Errorf("file %s is written twice", quote(file))
	}
	s.res.Files = append(s.res.Files, File{path, b})
	return nil
}

// What a save step writes has an entry among its metadata by which a later one
// knows that it may be replaced: the script chose the name, not the user.
const markKey, markValue = "saved_by", "nncc surgery"

func isMark(e *pb.StringStringEntryProto) bool {
	return e.GetKey() == markKey && e.GetValue() == markValue
}

// Saved tells whether a file is what a save step wrote.
func Saved(b []byte) bool {
	p := &pb.ModelProto{}
	return proto.Unmarshal(b, p) == nil && slices.ContainsFunc(p.MetadataProps, isMark)
}

// toleranceArgs are shared by the comparisons.
type toleranceArgs struct {
	Equal bool     `yaml:"equal"`
	ATol  *float64 `yaml:"atol"`
	RTol  *float64 `yaml:"rtol"`
	Cases int      `yaml:"cases"`
	Seed  uint64   `yaml:"seed"`
	Data  []string `yaml:"data"`
}

func (a *toleranceArgs) options(s *session, ref *Model) (CompareOptions, error) {
	o := CompareOptions{Equal: a.Equal, Count: s.count(a.Cases), Seed: a.Seed, Cases: s.casesFor(ref)}
	if a.Equal && (a.ATol != nil || a.RTol != nil) {
		return o, errors.New("equal: true leaves no room for atol and rtol")
	}
	if a.Cases < 0 || a.Cases > 10_000 {
		return o, fmt.Errorf("cases: %d; want 1 to 10000", a.Cases)
	}
	if a.ATol == nil && a.RTol == nil && !a.Equal {
		o.RTol = defaultRTol
	}
	for _, t := range []struct {
		from *float64
		to   *float64
	}{{a.ATol, &o.ATol}, {a.RTol, &o.RTol}} {
		if t.from != nil {
			if !(*t.from >= 0 && *t.from < 1e30) {
				return o, fmt.Errorf("tolerance %g; want 0 or more", *t.from)
			}
			*t.to = *t.from
		}
	}
	if len(a.Data) > 0 {
		c, err := readCase(a.Data, ref.InputNames(), s.script.Dir)
		if err != nil {
			return o, err
		}
		o.Cases = append([]map[string]*tensor.Dense{c}, o.Cases...)
	}
	return o, nil
}

// readCase reads inputs: NAME=FILE.npy, or a .npz with arrays of these names.
func readCase(data, names []string, dir string) (map[string]*tensor.Dense, error) {
	in := map[string]*tensor.Dense{}
	join := func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	for _, d := range data {
		if name, file, ok := strings.Cut(d, "="); ok {
			x, err := npz.ReadNpyFile(join(file), npz.Limits{})
			if err == nil {
				in[name], err = npz.ToTensor(x)
			}
			if err != nil {
				return nil, fmt.Errorf("data %s: %w", quote(d), err)
			}
			continue
		}
		es, err := npz.ReadNpzFile(join(d), npz.Limits{})
		if err != nil {
			return nil, fmt.Errorf("data %s: %w", quote(d), err)
		}
		for _, e := range es {
			if slices.Contains(names, e.Name) {
				if in[e.Name], err = npz.ToTensor(e.Array); err != nil {
					return nil, fmt.Errorf("data %s: %w", quote(d), err)
				}
			}
		}
	}
	for _, n := range names {
		if in[n] == nil {
			return nil, fmt.Errorf("data: nothing for input %s; want %s", quote(n), quoted(names))
		}
	}
	return in, nil
}

// text is a comparison in one line.
func (c *Comparison) text() string {
	var s []string
	for _, d := range c.Outputs {
		s = append(s, fmt.Sprintf("%s: min %.3g, max %.3g, relative %.3g", d.Name, d.Min, d.Max, d.Relative))
	}
	return fmt.Sprintf("%d cases, %s: %s", c.Cases, c.Wanted, strings.Join(s, "; "))
}

func verifyStep() *stepDef {
	type verify struct {
		Against       string `yaml:"against"`
		toleranceArgs `yaml:",inline"`
		Inputs        map[string]string `yaml:"inputs"`
		Outputs       map[string]string `yaml:"outputs"`
		Reshape       bool              `yaml:"reshape"`
		Partial       bool              `yaml:"partial"`
		Restore       []yaml.Node       `yaml:"restore"`
	}
	d := reading(def("verify", "compare with the model as it was: equal: true, or within atol + rtol of the largest value; inputs and outputs map new names to old ones, restore: steps on a copy that bring the old interface back; data: given inputs, cases: how many",
		`verify: {rtol: 1e-6, cases: 5, outputs: {scores_4d: scores}, reshape: true}`,
		func(s *session, a *verify) (string, error) {
			e := s.cur()
			ref, refName := e.ref, e.refName
			if a.Against == mainName {
				ref, refName = s.original, mainName
			} else if a.Against != "" {
				other, err := s.model(a.Against)
				if err != nil {
					return "", err
				}
				ref, refName = other.m, a.Against
			}
			opt, err := a.options(s, ref)
			if err != nil {
				return "", err
			}
			opt.Inputs, opt.Outputs, opt.Reshape, opt.Partial = a.Inputs, a.Outputs, a.Reshape, a.Partial
			got := e.m
			if len(a.Restore) > 0 {
				if got, err = s.restored(a.Restore); err != nil {
					return "", err
				}
			}
			c, err := Compare(got, ref, opt)
			if err != nil {
				return "", err
			}
			s.res.Verified = append(s.res.Verified, Verified{s.path, refName, c})
			if !c.OK() {
				return "", &DifferError{c}
			}
			e.edited = false
			return fmt.Sprintf("against %s: %s", refName, c.text()), nil
		}))
	keys := d.check
	d.check = func(n *yaml.Node, depth int) error {
		if err := keys(n, depth); err != nil {
			return err
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "restore" && depth < maxLoops {
				if err := checkSteps(n.Content[i+1].Content, depth+1); err != nil {
					return fmt.Errorf("restore: %w", err)
				}
			} else if n.Content[i].Value == "restore" {
				return lineErr(n, "restore within restore, more than %d deep", maxLoops)
			}
		}
		return nil
	}
	return d
}

// restored is a copy of the current model after further steps.
func (s *session) restored(steps []yaml.Node) (*Model, error) {
	e := s.cur()
	inner := &session{script: s.script, opt: s.opt, models: map[string]*entry{mainName: {m: e.m.Clone(), ref: e.ref, refName: e.refName}}, at: mainName,
		original: s.original, res: &Result{}, executed: s.executed}
	inner.opt.Note = nil
	var list []*yaml.Node
	for i := range steps {
		list = append(list, &steps[i])
	}
	if err := inner.steps(list, s.vars, s.path+".restore."); err != nil {
		return nil, err
	}
	s.executed = inner.executed
	m := inner.cur().m
	if _, err := m.InferShapes(); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	m.Prune()
	return m, nil
}

func verifySplitStep() *stepDef {
	type verifySplit struct {
		Parts         []string `yaml:"parts"`
		Whole         string   `yaml:"whole"`
		toleranceArgs `yaml:",inline"`
	}
	return reading(def("verify_split", "run parts one after the other, each with what those before give, and compare with the whole model (default: the original)",
		`verify_split: {parts: [head, tail], equal: true}`,
		func(s *session, a *verifySplit) (string, error) {
			whole, name := s.original, mainName
			if a.Whole != "" && a.Whole != mainName {
				e, err := s.model(a.Whole)
				if err != nil {
					return "", err
				}
				whole, name = e.m, a.Whole
			}
			if len(a.Parts) == 0 {
				return "", errors.New("no parts are named")
			}
			var parts []*Model
			for _, p := range a.Parts {
				e, err := s.model(p)
				if err != nil {
					return "", err
				}
				parts = append(parts, e.m)
			}
			opt, err := a.options(s, whole)
			if err != nil {
				return "", err
			}
			c, err := Cascade(whole, parts, a.Parts, opt)
			if err != nil {
				return "", err
			}
			s.res.Verified = append(s.res.Verified, Verified{s.path, name, c})
			if !c.OK() {
				return "", &DifferError{c}
			}
			return fmt.Sprintf("against %s: %s", name, c.text()), nil
		}))
}
