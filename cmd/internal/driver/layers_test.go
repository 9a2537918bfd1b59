package driver_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sort"
	"strings"
	"testing"
)

// layers is the statement of policy: a package imports packages of lower lines
// only, and of its own line where it stands behind them. Packages that end in
// /... stand for everything below.
const layers = `
ir/bug ir/diag frontend/text frontend/files ir/irtest/testenv ir/irtest/sharedata ir/irtest/sharedata/users ir/tensor ir/types ir/syntax ir/call ir/program ir/fixp lower/cost lower/kernel/pack ir/qref/cmsis boards boards/cycles boards/stack runtime_c runtime_c/port frontend/onnx/pb frontend/onnx/schema schedule/plan lower/partition lower/accel/mla/lm
frontend/npz ir ir/qref
ir/op
ir/interp ir/pass
ir/irtest ir/irtest/ort frontend/npz/npztest
frontend/onnx/functions frontend/onnx/model frontend/onnx/build frontend/onnx/upgrade frontend/onnx/expand
frontend/onnx/check frontend/onnx/exporter frontend/onnx/importer frontend/onnx lower/align lower/kernel lower/kernel/quantised
lower/layout lower/legal lower/fuse lower/legal4d lower/patch lower/prune lower/quant lower/fidelity lower/stream frontend/surgery lower/kernel/cmsisnn lower/kernel/dsp lower/kernel/helium lower/kernel/loops lower/kernel/reference
schedule
lower/accel lower/accel/mla lower/accel/kinds lower/accel/acceltest
lower
codegen boards/run
lower/kerneltest
cmd/internal/driver
cmd/...
`

// bare are libraries that only the named package may import.
var bare = map[string]string{
	"github.com/dave/jennifer":       "cmd/nnccgen",
	"github.com/spf13/pflag":         "cmd",
	"github.com/Masterminds/sprig":   "codegen",
	"google.golang.org/protobuf":     "frontend frontend/surgery cmd/nncc/examples",
	"github.com/schollz/progressbar": "cmd",
}

const module = "github.com/nncc/nncc/"

func TestLayers(t *testing.T) {
	rank := map[string]int{}
	prefix := map[string]int{}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(layers), "\n") {
		for _, p := range strings.Fields(line) {
			if strings.HasSuffix(p, "/...") {
				prefix[strings.TrimSuffix(p, "...")] = n
			} else {
				rank[p] = n
			}
			n++ // later on a line counts as higher
		}
	}
	level := func(p string) int {
		if r, ok := rank[p]; ok {
			return r
		}
		for pre, r := range prefix {
			if strings.HasPrefix(p+"/", pre) {
				return r
			}
		}
		return -1
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	var wrong []string
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		me := strings.TrimPrefix(p.ImportPath, module)
		if level(me) < 0 {
			wrong = append(wrong, me+" stands in no layer: add it to the table")
			continue
		}
		for _, i := range p.Imports {
			if dep, ok := strings.CutPrefix(i, module); ok {
				if d := level(dep); d > level(me) || d == level(me) && !strings.HasPrefix(me, "cmd/") {
					wrong = append(wrong, me+" must not import "+dep)
				}
			}
			for lib, who := range bare {
				if strings.HasPrefix(i, lib) && !allowed(me, who) {
					wrong = append(wrong, me+" must not import "+i+" (only "+who+")")
				}
			}
		}
	}
	sort.Strings(wrong)
	for _, w := range wrong {
		t.Error(w)
	}
}

func allowed(p, who string) bool {
	for _, w := range strings.Fields(who) {
		if p == w || strings.HasPrefix(p, w+"/") {
			return true
		}
	}
	return false
}
