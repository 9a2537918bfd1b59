// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// Members are the arguments of a run for the C++ class.
func (v *modelView) Members() string {
	if len(v.States) > 0 {
		return v.Member + ", state_"
	}
	return v.Member
}

// rustWords are names that Rust keeps for itself, and those of the crate's root.
var rustWords = words(`as async await box break const continue crate dyn else enum extern false final fn for if impl in
	let loop macro match mod move mut override priv pub ref return self Self static struct super trait true try type
	typeof unsafe unsized use virtual where while yield abstract become do gen
	core std alloc test proc_macro Error Arena check c_void cc infer runs build examples deps incremental`)

// rustName is an identifier of Rust.
func rustName(s string) string {
	if rustWords[s] {
		return s + "_model"
	}
	return s
}

// Crate is the name of the Rust package and its library.
func (v *firmwareView) Crate() string { return rustName(v.Name) }

// Module is the model's module in a crate of several.
func (v *modelView) Module() string { return rustName(v.Prefix) }

// HasBound reports a model whose constants are bound at run time.
func (v *firmwareView) HasBound() bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool { return m.Bound != nil })
}

// rustMemory is a type of the crate for the arena, or for a part of it.
type rustMemory struct {
	partView        // of a part: its region
	Name     string // of variables
	Type     string
	Const    string // its size
}

// RustArena are the types that a model of the crate borrows: one, or one for each part. Names
// begin with a word of their own, so that none is a keyword.
func (v *firmwareView) RustArena() []rustMemory {
	if !v.Split() {
		return []rustMemory{{partView{Bytes: v.Arena}, "arena", "Arena", "ARENA_BYTES"}}
	}
	var out []rustMemory
	taken := map[string]bool{}
	for _, x := range v.First().Parts {
		base := "Arena" + camel(x.Field)
		name := base
		for k := 2; taken[name]; k++ {
			name = fmt.Sprintf("%s%d", base, k)
		}
		taken[name] = true
		out = append(out, rustMemory{x, "part_" + x.Field, name, "ARENA_" + strings.ToUpper(x.Field) + "_BYTES"})
	}
	return out
}

// camel is a name with a capital in place of every underscore.
func camel(s string) string {
	var b strings.Builder
	for _, w := range strings.Split(s, "_") {
		if w != "" {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// RustParams are the parameters of the run in Rust.
func (v *modelView) RustParams() string {
	if len(v.States) > 0 {
		return "arena: *mut c_void, state: *mut c_void"
	}
	return "arena: *mut c_void"
}

// rustType is a scalar type of C in Rust.
func rustType(c string) string {
	switch c {
	case "float":
		return "f32"
	case "double":
		return "f64"
	}
	return strings.NewReplacer("uint", "u", "int", "i", "_t", "").Replace(c)
}

// RustType is the element type in Rust.
func (v ioView) RustType() string { return rustType(v.CType) }

// RustZeros is a call of Rust that fills an input with what stands for zero.
func (v ioView) RustZeros() string {
	zero := "0"
	switch {
	case strings.Contains(v.Zero, "("): // of a bound weights file
		return fmt.Sprintf("quantize_%s(&[0.0; %d])", v.CName, v.Elems)
	case v.Quantised:
		zero = v.zero()
	case v.CType == "float", v.CType == "double":
		zero = "0.0"
	}
	return fmt.Sprintf("input_%s().fill(%s)", v.CName, zero)
}

// Real0 is the element that stands for zero, in C.
func (v ioView) Real0() string {
	switch {
	case v.Quantised && strings.Contains(v.Zero, "("): // of a bound weights file, an int32_t
		return "(" + v.CType + ")" + v.Zero
	case v.Quantised:
		return v.zero()
	}
	return "0"
}

// zero is the element that stands for zero, or comes nearest; 0 where each channel has another.
func (v ioView) zero() string {
	z, err := strconv.ParseInt(strings.Trim(v.Zero, "()"), 10, 64)
	if err != nil {
		return cmp.Or(v.Zero, "0")
	}
	return IntLit(min(max(z, v.lo), v.hi))
}

// RustElem is the type of the values that a helper takes or gives.
func (h helperView) RustElem() string { return rustType(h.Elem) }

// RustList and RustItem are the types of what postprocessing gives in Rust.
func (v postView) RustList() string { return v.RustItem() + "List" }

// RustItem is one of a list.
func (v postView) RustItem() string {
	if v.Kind == "boxes" {
		return "Found"
	}
	return "Class"
}

// Scores are those that keywords are made of.
func (v postView) Scores() int { return v.Count * v.Window }

// Makes reports postprocessing of a kind.
func (v *modelView) Makes(kind string) bool {
	return slices.ContainsFunc(v.Post, func(x postView) bool { return x.Kind == kind })
}

// CratePath is in front of what belongs to the model.
func (v *firmwareView) CratePath(m *modelView) string {
	if v.Several() {
		return v.Crate() + "::" + m.Module() + "::"
	}
	return v.Crate() + "::"
}

// Format and Printed are how samples print an element: printf's directive, and the type
// for it.
func (v ioView) Format() string {
	if v.Printed() == "double" {
		return "%g"
	}
	return "%ld"
}

// Printed is the type that Format wants.
func (v ioView) Printed() string {
	if v.CType == "float" || v.CType == "double" {
		return "double"
	}
	return "long"
}

// Float reports an output of reals.
func (v *firmwareView) Float() bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool {
		return slices.ContainsFunc(m.Outputs, func(x ioView) bool { return x.Printed() == "double" })
	})
}

// kib is bytes in KiB, rounded up.
func kib(bytes int) int { return (bytes + 1023) / 1024 }

// RamKiB is what a sample needs, the arena beside 16 KiB of the system's.
func (v *firmwareView) RamKiB() int { return kib(v.Arena) + 16 }

// FlashKiB is likewise: constants and 96 KiB of code.
func (v *firmwareView) FlashKiB() int { return kib(v.Bytes) + 96 }

// Keywords are the lines of an Arduino library's keywords.txt.
func (v *firmwareView) Keywords() []string {
	var s []string
	for _, m := range v.Models {
		s = append(s, m.Prefix+"_model\tKEYWORD1", m.Prefix+"_session\tKEYWORD1", m.Prefix+"_"+m.Run+"\tKEYWORD2",
			m.Prefix+"_"+m.Step+"\tKEYWORD2", m.Prefix+"_info\tKEYWORD2", m.Upper+"_STEPS\tLITERAL1",
			m.Upper+"_ARENA_BYTES\tLITERAL1", m.Upper+"_ARENA_ALIGN\tLITERAL1")
		if len(m.States) > 0 {
			s = append(s, m.Prefix+"_reset\tKEYWORD2", m.Upper+"_STATE_BYTES\tLITERAL1",
				m.Upper+"_STATE_ALIGN\tLITERAL1")
		}
		if m.Bound != nil {
			s = append(s, m.Prefix+"_bind\tKEYWORD2", m.Upper+"_WEIGHTS_FILE_BYTES\tLITERAL1",
				m.Upper+"_WEIGHTS_FILE_ALIGN\tLITERAL1")
		}
		if m.Staged != nil {
			s = append(s, m.Prefix+"_stage\tKEYWORD2", m.Upper+"_STAGED_BYTES\tLITERAL1")
		}
		for _, x := range slices.Concat(m.Inputs, m.Outputs) {
			s = append(s, x.Fn+"\tKEYWORD2", x.Macro+"_BYTES\tLITERAL1", x.Macro+"_ELEMS\tLITERAL1")
			s = append(s, lists.Map(x.Helpers, func(h helperView) string { return h.Func + "\tKEYWORD2" })...)
		}
	}
	return append(s, "nncc_status\tKEYWORD1", "nncc_info\tKEYWORD1", "NNCC_OK\tLITERAL1")
}

// cortex finds the core in the compiler's flags.
var cortex = regexp.MustCompile(`^-mcpu=cortex-m(\d+)(p|plus)?`)

// dcores are the cores of CMSIS-Pack by what code for the first of a row uses: the others
// run it, too.
var dcores = [][]string{
	{"Cortex-M55", "Cortex-M52", "Cortex-M85"},
	{"Cortex-M4", "Cortex-M7", "Cortex-M33", "Cortex-M35P", "Cortex-M52", "Cortex-M55", "Cortex-M85"},
	{"Cortex-M3", "Cortex-M4", "Cortex-M7", "Cortex-M33", "Cortex-M35P", "Cortex-M52", "Cortex-M55", "Cortex-M85"},
	{"Cortex-M0", "Cortex-M0+", "Cortex-M1", "Cortex-M3", "Cortex-M4", "Cortex-M7", "Cortex-M23", "Cortex-M33",
		"Cortex-M35P", "Cortex-M52", "Cortex-M55", "Cortex-M85"},
}

// core is the number of the Cortex-M that the folder is for, "" where it is for none.
func (v *firmwareView) core() string {
	for _, f := range v.CPUFlags {
		if m := cortex.FindStringSubmatch(f); m != nil {
			return strings.ToUpper(m[1] + m[2][:min(len(m[2]), 1)])
		}
	}
	return ""
}

// Dcores are the cores that the code is made for; none: all.
func (v *firmwareView) Dcores() []string {
	name := "Cortex-M" + strings.Replace(v.core(), "0P", "0+", 1)
	row := slices.IndexFunc(dcores, func(row []string) bool { return slices.Contains(row, name) })
	if row < 0 {
		return nil
	}
	return dcores[row]
}

// CmsisDevice is the device of Arm's pack Cortex_DFP that stands for the core.
func (v *firmwareView) CmsisDevice() string { return "ARMCM" + cmp.Or(v.core(), "4") }

// PackFile is the name of the zipped pack.
func (v *firmwareView) PackFile() string {
	return packVendor + "." + v.Name + "." + v.PackVersion() + ".pack"
}

// packFile is the CMSIS-Pack of a folder.
func packFile(v *firmwareView, files []File) (File, error) { return zipped(v.PackFile(), files) }

// Repacked makes the packs among files anew from the others, which have changed.
func Repacked(files []File) ([]File, error) {
	isPack := func(f File) bool { return strings.HasSuffix(f.Path, ".pack") }
	rest := slices.DeleteFunc(slices.Clone(files), isPack)
	files = slices.Clone(files)
	for i, f := range files {
		if isPack(f) {
			var err error
			if files[i], err = zipped(f.Path, rest); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// zipped is an archive of files: the same files give the same bytes.
func zipped(path string, files []File) (File, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	files = slices.Clone(files)
	lists.Sort(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range files {
		// 1980 is the earliest date that the format knows.
		h := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(0o644)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(f.Data)
		}
		if err != nil {
			return File{}, bug.Errorf("pack: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return File{}, bug.Errorf("pack: %w", err)
	}
	return File{path, b.Bytes()}, nil
}

// PackConditions reports that components have any.
func (v *firmwareView) PackConditions() bool { return len(v.Runtime.CMSIS) > 0 || len(v.Dcores()) > 0 }

// PublicHeaders are those that an application may include, beside nncc/nncc.h.
func (v *firmwareView) PublicHeaders() []string {
	var s []string
	if v.Several() {
		s = append(s, v.Header())
	}
	for _, m := range v.Models {
		s = append(s, m.Prefix+".h", m.Prefix+".hpp")
		for _, x := range []struct {
			file string
			has  bool
		}{{"preprocess", m.Preprocesses()}, {"postprocess", m.Postprocesses()}, {"stage", m.HasCopies()},
			{"weights", m.Bound != nil}} { // those of functions that the application gives, or asks
			if x.has {
				s = append(s, m.Prefix+"_"+x.file+".h")
			}
		}
	}
	return s
}
