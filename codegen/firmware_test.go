// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestPrefixes: models of one folder have files and identifiers of their own.
func TestPrefixes(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, c := range []struct{ names, want string }{
		{"kws", "kws"},
		{"models", "models"},
		{"models kws", "models_2 kws"},
		{"kws kws kws", "kws kws_2 kws_3"},
		{"kws KWS", "kws KWS_2"},
		{"kws kws_2 kws", "kws kws_2 kws_3"},
		{"kws kws_weights kws_io kws_a", "kws m_kws_weights kws_io_2 kws_a"},
		{"kws kws_weights_7 KWS_postprocess_x", "kws m_kws_weights_7 m_KWS_postprocess_x"},
		{"kws_postprocess_x kws", "kws_postprocess_x kws_2"},
		{"kws_names kws", "kws_names kws_2"},
		{"1" + long + " " + long + " " + long, "m1" + long[:46] + " " + long[:48] + " " + long[:36] + "_2"},
		{"arm_x arm_x nncc", "arm_x_model arm_x_model_2_model nncc_net_model"},
	} {
		got := codegen.Prefixes(strings.Fields(c.names), nil)
		testenv.Check(t, slices.Equal(got, strings.Fields(c.want)), "%s: %v, want %s", c.names, got, c.want)
		for _, p := range strings.Fields(c.want) {
			testenv.Check(t, codegen.Prefix(p) == p, "%s is no prefix, it would become %s", p, codegen.Prefix(p))
		}
	}
}

// TestPrefixesDrawn: names made of what prefixes and files begin and end with get
// prefixes, each beside the others.
func TestPrefixesDrawn(t *testing.T) {
	parts := strings.Fields("a A kws m m_a models nncc nncc_model arm int 1 _ weights weights_0 weights_0_bias " +
		"postprocess postprocess_x names io 2 3 model " + strings.Repeat("x", 47))
	rnd := rand.New(rand.NewPCG(11, 7))
	for range 4000 {
		names := make([]string, 1+rnd.IntN(6))
		for i := range names {
			words := make([]string, 1+rnd.IntN(3))
			for k := range words {
				words[k] = parts[rnd.IntN(len(parts))]
			}
			names[i] = strings.Join(words, "_")
		}
		for i, p := range codegen.Prefixes(names, nil) {
			testenv.Check(t, codegen.Prefix(p) == p,
				"%q: %s is no prefix, it would become %s", names, p, codegen.Prefix(p))
			k := codegen.PrefixTaken(p, codegen.Prefixes(names, nil)[:i])
			testenv.Check(t, k < 0, "%q: prefixes %d and %d have the same names", names, k, i)
		}
	}
}

// several draws networks whose names are made to meet and gives their folder.
func several(t *testing.T, projects ...string) ([]codegen.File, []*codegen.Info) {
	t.Helper()
	var models []codegen.Model
	for _, m := range drawnSeveral() {
		m.generate(t)
		models = append(models, codegen.Model{Program: m.prog, Prefix: m.prefix, Source: m.prefix + ".onnx"})
	}
	files, infos, err := codegen.Generate(models, codegen.Options{Board: "host", Version: "test", Projects: projects})
	testenv.OK(t, err)
	return files, infos
}

// drawnSeveral are networks whose names are made to meet.
func drawnSeveral() []*model {
	return []*model{
		{prefix: "kws", src: `
			in %run_x : f32[2,6]
			in %a_x : f32[2,6]
			in %a_run : f32[2,6]
			%y = Add(%run_x, %a_x)
			%z = Mul(%y, %a_run)
			out "y" = %z`},
		{prefix: "kws_a", src: `
			in %x : f32[4,6]
			const %w : f32[6,3] = rand 3
			%y = MatMul(%x, %w)
			%z = Add(%y, %y)
			out "z" = %z`},
		{prefix: "big", src: `
			in %x : f32[1,40]
			const %w : f32[40,500] = rand 4
			%y = MatMul(%x, %w)
			out "y" = %y`},
	}
}

// TestSeveral: one folder of three models has every file once, under names of its own,
// and one library with all of them, whatever builds it.
func TestSeveral(t *testing.T) {
	files, _ := several(t, codegen.Projects()...)
	base := map[string]string{}
	for _, f := range files {
		if path.Ext(f.Path) == ".c" && !strings.HasPrefix(f.Path, "src/") && !strings.HasPrefix(f.Path, "samples/") {
			testenv.Equal(t, base[strings.ToLower(path.Base(f.Path))], "", "and %s have the same name", f.Path)
			base[strings.ToLower(path.Base(f.Path))] = f.Path
		}
	}
	build := func(file string) {
		text := textOf(t, files, file)
		for _, s := range []string{"kws.c", "kws_a.c", "big.c", "big_weights.c"} {
			testenv.Check(t, strings.Contains(text, s), "%s does not build %s", file, s)
		}
	}
	for _, f := range []string{"Makefile", "CMakeLists.txt", "zephyr/CMakeLists.txt", "models.clayer.yml",
		"nncc.models.pdsc"} {
		build(f)
	}
	header := textOf(t, files, "models.h")
	for _, s := range []string{"kws.h", "kws_a.h", "big.h", "NNCC_MODELS_ARENA_BYTES"} {
		testenv.Check(t, strings.Contains(header, s), "models.h without %s", s)
	}
}

// TestSeveralNames: identifiers of one model are none of another.
func TestSeveralNames(t *testing.T) {
	_, infos := several(t)
	idents := map[string]string{}
	for _, i := range infos {
		for _, x := range slices.Concat(i.Inputs, i.Outputs) {
			for _, d := range []string{i.Prefix + "_" + x.CName, strings.ToUpper(i.Prefix) + "_" + x.Upper} {
				if other := idents[d]; other != "" {
					t.Errorf("%s of %s and of %s", d, other, i.Prefix)
				}
				idents[d] = i.Prefix
			}
		}
	}
	for _, own := range []string{"kws_a_run", "kws_run", "KWS_A_ARENA"} {
		testenv.Check(t, idents[own] == "", "%s is an input or output of %s, and the name of a function", own,
			idents[own])
	}
}

func textOf(t *testing.T, files []codegen.File, name string) string {
	t.Helper()
	i := slices.IndexFunc(files, func(f codegen.File) bool { return f.Path == name })
	testenv.Require(t, i >= 0, "no %s", name)
	return string(files[i].Data)
}
