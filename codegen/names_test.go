// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestPrefix(t *testing.T) {
	for in, want := range map[string]string{
		"kws": "kws", "a.b-c": "a_b_c", "9lives": "m9lives", "": "model", "___": "model", "größe": "gr__e",
		"世界": "model", "_x": "m_x",
		"int": "int_model", "Stdint": "Stdint_model", "features": "features_model", "string": "string_model",
		"memcpy":      "memcpy",
		"arm_softmax": "arm_softmax_model", "nncc": "nncc_net_model", "NNCC": "nncc_net_model",
		"NNCC_x":    "NNCC_x_model",
		"cmsis_gcc": "cmsis_gcc_model", "nncc_model": "nncc_net_model",
		strings.Repeat("x", 100): strings.Repeat("x", 48),
	} {
		testenv.Equal(t, Prefix(in), want, "Prefix(%q)", in)
		if p := Prefix(in); Prefix(p) != p {
			t.Errorf("Prefix(%q) = %q, of which it is %q", in, p, Prefix(p))
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// TestIONames: whatever the names are, all identifiers derived from them are
// different, valid, and none of the emitted files' own or the library's.
func TestIONames(t *testing.T) {
	words := []string{"a", "A", "a.b", "a_b", "a_2", "a_2_2", "run", "reset", "step_0", "step_12", "p0", "p7",
		"weights_bin", "weights_3_bias", "x_weights_3_bias",
		"step", "STEP", "staged", "postprocess", "postprocess_boxes", "params", "PARAMS", "table", "TABLE",
		"weights_2", "WEIGHTS_2",
		"weights_0_", "io_round", "io_quantise", "H", "h", "ARENA", "arena", "ARENA_BYTES", "quantize_a", "load_a",
		"store_a", "a_BYTES", "a_SHAPE", "", "_", "世", "界", "t", "TRACE",
		"ALIGNED", "WEIGHTS_H", "least8_t", "int", strings.Repeat("l", 60), strings.Repeat("l", 61)}
	own := regexp.MustCompile(`^(run|reset|step|step_\d+|staged|staged_\d+|postprocess_.*|p\d+|` +
		`weights_bin|weights_\d+_.*|io_round|io_quantise)$`)
	r := rand.New(rand.NewPCG(1, 1))
	for _, prefix := range []string{"kws", "KWS", "int8", "size", "uint", "x_a"} {
		for range 200 {
			names := make([]string, 1+r.IntN(12))
			for i := range names {
				names[i] = words[r.IntN(len(words))]
			}
			seen := map[string]string{}
			for i, c := range newIONaming(prefix).names(prefix, names) {
				testenv.Check(t, !own.MatchString(c), "%s: %q becomes %s_%s", prefix, names[i], prefix, c)
				for _, d := range derived(prefix, c) {
					who := fmt.Sprintf("name %d %q", i, names[i])
					if o, ok := seen[d]; ok && o != who {
						t.Errorf("%s: %s and %s both give %s (of %q)", prefix, o, who, d, names)
					}
					seen[d] = who
					if !identifier.MatchString(d) ||
						slices.Contains([]string{"int8_t", "size_t", "uint8_t", strings.ToUpper(prefix) +
							"_ARENA_BYTES"}, d) {
						t.Errorf("%s: %q gives %s", prefix, names[i], d)
					}
				}
			}
		}
	}
	if got := newIONaming("kws").names("kws", []string{"input_1", "Identity", "a.b", "a_b"}); !slices.Equal(got,
		[]string{"input_1", "Identity", "a_b", "a_b_2"}) {
		t.Errorf("plain names become %q", got)
	}
}

// TestIONamesOfSeveral: whatever models of one folder are called, their inputs get names.
func TestIONamesOfSeveral(t *testing.T) {
	models := []string{"kws", "kws_weights", "kws_weights_3", "kws_postprocess", "kws_step", "kws_staged", "KWS_io"}
	prefixes := Prefixes(models, nil)
	naming := newIONaming(prefixes...)
	for _, p := range prefixes {
		got := naming.names(p, []string{"x", "0", "step"})
		testenv.Check(t, got[0] == "x", "the inputs of %s become %q", p, got)
	}
}

// TestComment: nothing in a comment ends it, opens another one, continues a
// line, or is a trigraph.
func TestComment(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	letters := []rune("*/?\\\n\r\t \x00\"'#$%ab世-")
	for range 3000 {
		s := make([]rune, r.IntN(30))
		for i := range s {
			s[i] = letters[r.IntN(len(letters))]
		}
		got := comment(string(s))
		for _, bad := range []string{"*/", "/*", "//", "??", "\\", "\n", "\r", "\t", "\x00"} {
			testenv.Require(t, !strings.Contains(got, bad), "comment(%q) = %q has %q", string(s), got, bad)
		}
	}
	for in, want := range map[string]string{"a/b/c.d:0": "a/b/c.d:0", "/model.22/dfl/Conv": "/model.22/dfl/Conv",
		"*/": "* /", "??/": "? ?/", "a\nb": "a_b"} {
		testenv.Equal(t, comment(in), want, "comment(%q)", in)
	}
	got := comment(strings.Repeat("x", 500))
	testenv.Check(t, len(got) <= 130, "%d letters", len(got))
}
