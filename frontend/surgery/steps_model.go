// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// model finds a model of the run by name; "" is the current one.
func (s *session) model(name string) *entry {
	if name == "" {
		return s.cur()
	}
	if e := s.models[name]; e != nil {
		return e
	}
	all := sortedKeys(s.models)
	s.want(false, "no model is called %s%s; there are %s", quote(name), near(name, all), quoted(all))
	return nil
}

// put makes a model current; it is compared with ref.
func (s *session) put(name string, m, ref *Model, refName string) {
	s.want(name != "", "the model needs a name")
	s.want(s.models[name] == nil || name == s.at, "a model is called %s already", quote(name))
	s.models[name] = &entry{m: m, ref: ref, refName: refName}
	s.at = name
}

// modelSteps cut, join, read, write and clean models.
func modelSteps() []*stepDef {
	type extract struct {
		Inputs  []string
		Outputs []string
		As      string
	}
	type part struct {
		Part `yaml:",inline"`
		File string
	}
	type merge struct {
		MergeOptions `yaml:",inline"`
		As, Against  string
	}
	type load struct {
		File string
		As   string
	}
	type save struct {
		Model string
		File  string
	}
	type version struct {
		IR     int64
		Opset  int64
		Domain string
	}
	type nothing struct{}
	return []*stepDef{
		def("extract", func(s *session, a *extract) string {
			x := s.m().Extract(a.Inputs, a.Outputs)
			text := fmt.Sprintf("%d of %d nodes", len(x.graph().Node), len(s.m().graph().Node))
			s.put(cmp.Or(a.As, s.at), x, x.Clone(), "the part as it was cut out")
			return text
		}),
		def("split", func(s *session, a *struct{ Parts []part }) string {
			var list []string
			parts := lists.Map(a.Parts, func(p part) Part { return p.Part })
			s.want(len(parts) > 0, "no parts are given")
			models := s.m().Split(parts)
			for i, x := range models {
				s.put(parts[i].Name, x, x.Clone(), parts[i].Name+" as it was cut out")
				if f := a.Parts[i].File; f != "" {
					fail.Under("part "+quote(parts[i].Name), func() { s.save(s.cur(), f) })
				}
				list = append(list, fmt.Sprintf("%s (%d nodes)", parts[i].Name, len(x.graph().Node)))
			}
			return strings.Join(list, ", ")
		}),
		reading(def("use", func(s *session, a *struct{ Model string }) string {
			s.want(a.Model != "", "no model is named")
			s.model(a.Model)
			s.at = a.Model
			return quote(a.Model)
		})),
		def("merge", func(s *session, a *merge) string {
			var ms []*Model
			for _, n := range a.Names {
				s.want(n != "", "a model without a name is to be merged")
				ms = append(ms, s.model(n).m)
			}
			m := Merge(ms, a.MergeOptions)
			ref, refName := s.original, cmp.Or(a.Against, mainName)
			if refName != mainName {
				ref = s.model(refName).ref
			}
			s.put(cmp.Or(a.As, "merged"), m, ref, refName)
			s.cur().edited = true
			return fmt.Sprintf("%d nodes, inputs %s, outputs %s", len(m.graph().Node), quoted(m.InputNames()),
				quoted(m.OutputNames()))
		}),
		def("prefix_names", func(s *session, a *struct{ Prefix string }) string {
			s.want(a.Prefix != "", "no prefix is given")
			s.m().Prefix(a.Prefix)
			return quote(a.Prefix)
		}),
		reading(def("load", func(s *session, a *load) string {
			s.want(a.As != "" && s.models[a.As] == nil, "as: %s; want a name that no model has", quote(a.As))
			path := inDir(s.script.Dir, a.File)
			s.res.Read = append(s.res.Read, path)
			m := fail.Must(Load(path, s.opt.Limits))
			m.Functions, m.Dims = s.original.Functions, s.original.Dims
			s.models[a.As] = &entry{m: m, ref: m.Clone(), refName: a.As + " as it was read"}
			return fmt.Sprintf("%s: %d nodes", quote(a.As), len(m.graph().Node))
		})),
		reading(def("save", func(s *session, a *save) string {
			s.save(s.model(a.Model), a.File)
			return "file " + quote(a.File)
		})),
		def("simplify", func(s *session, a *nothing) string {
			d := s.m().Simplify()
			return fmt.Sprintf("%d nodes computed, %d taken out, %d nodes and constants that nothing reads deleted",
				d.Folded, d.Bypassed, d.Pruned)
		}),
		def("prune", func(s *session, a *nothing) string {
			ns, is := s.m().Prune()
			return fmt.Sprintf("deleted %d nodes and %d constants", len(ns), len(is))
		}),
		reading(def("infer_shapes", func(s *session, a *nothing) string {
			changed := s.m().InferShapes()
			text := fmt.Sprintf("%d values have shapes", len(s.m().graph().ValueInfo))
			return strings.Join(append([]string{text}, changed...), "; ")
		})),
		reading(def("clear_shapes", func(s *session, a *nothing) string {
			return fmt.Sprintf("dropped %d", s.m().ClearShapes())
		})),
		reading(def("check", func(s *session, a *nothing) string {
			s.m().undefined()
			fail.Check(errors.Join(s.m().Shapes().Problems...))
			fail.Check(s.m().Checked())
			return "no findings"
		})),
		def("set_version", func(s *session, a *version) string {
			s.want(a.IR != 0 || a.Opset != 0, "want ir, opset or both")
			s.m().SetVersion(a.IR, a.Domain, a.Opset)
			return fmt.Sprintf("IR version %d, opset %d", s.m().Proto.GetIrVersion(), s.m().Opset(a.Domain))
		}),
		verifyStep(),
		verifySplitStep(),
	}
}

// save keeps a copy of a model, made valid, for the folder of the result.
func (s *session) save(e *entry, file string) {
	path := localPath(file)
	c := &entry{m: e.m.Clone()}
	s.seal(c)
	c.m.Proto.MetadataProps = append(slices.DeleteFunc(c.m.Proto.MetadataProps, isMark),
		&pb.StringStringEntryProto{Key: proto.String(markKey), Value: proto.String(markValue)})
	b := fail.Must(c.m.Bytes())
	fail.If(slices.ContainsFunc(s.res.Files, func(f File) bool { return f.Path == path }),
		"file %s is written twice", quote(file))
	s.res.Files = append(s.res.Files, File{path, b})
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
