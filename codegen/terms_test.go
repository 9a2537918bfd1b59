// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// TestTerms: every file says under which terms it may be used, or NOTICE does;
// constants of the model are under the model's.
func TestTerms(t *testing.T) {
	for _, m := range projectModels(t) {
		m.opt.Projects = codegen.Projects()
		m.generate(t)
		constants := checkTerms(t, m)
		testenv.Check(t, strings.Contains(m.file("NOTICE"), spdx.Model+")"), "%s: NOTICE does not speak of weights",
			m.prefix)
		testenv.Check(t, m.file(m.prefix+"_weights.c") == "" || constants != 0, "%s: no file has the model's terms",
			m.prefix)
		for _, licence := range []string{"Apache-2.0", "MIT No Attribution", spdx.Model} {
			testenv.Check(t, strings.Contains(m.file("LICENSE"), licence), "%s: LICENSE lacks %s", m.prefix, licence)
		}
	}
}

// checkTerms looks at every file of a model and counts those under the model's terms.
func checkTerms(t *testing.T, m *model) int {
	t.Helper()
	named := map[string]string{}
	for _, line := range strings.Split(m.file("NOTICE"), "\n") {
		if file, terms, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			named[file] = strings.TrimSpace(terms)
		}
	}
	constants := 0
	for _, f := range m.files {
		terms := spdx.Of(f.Data)
		if !spdx.Takes(f.Path) {
			terms = named[f.Path]
		}
		switch {
		case terms == "":
			t.Errorf("%s: %s does not say its terms, nor does NOTICE", m.prefix, f.Path)
		case strings.HasSuffix(terms, spdx.Model):
			constants++
		case !strings.HasPrefix(terms, "Apache-2.0 OR"):
			t.Errorf("%s: %s is under %s", m.prefix, f.Path, terms)
		}
	}
	return constants
}
