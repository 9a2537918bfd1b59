// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestEthosUNetworks: the simulator in C gives the interpreter's numbers for the streams of random networks, on every
// configuration.
func TestEthosUNetworks(t *testing.T) {
	segments := 0
	for i, params := range []string{"macs: 32", "macs: 64", "macs: 128", "macs: 256", "macs: 256, u65: 1",
		"macs: 512, u65: 1"} {
		c := driver.Defaults()
		c.Board = filepath.Join(t.TempDir(), "npu.yaml")
		text := "inherits: [host]\naccelerators:\n- {name: npu0, kind: ethosu, params: {" + params + "}}\n"
		testenv.OK(t, os.WriteFile(c.Board, []byte(text), 0o666))
		c.Name, c.Cases = fmt.Sprint("net", i), 2
		o := compileNet(t, irtest.Parse(t, convNet(uint64(i+1))), &c)
		segments += len(o.Report.Segments)
		if v := mustVerify(t, o); v.Differs() {
			t.Errorf("%s\n%s", params, v.Text())
		}
	}
	testenv.Check(t, segments > 5, "%d segments: the networks show nothing", segments)
}
