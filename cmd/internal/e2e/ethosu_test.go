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
		"macs: 512, u65: 1", "macs: 128, memory: sram-only", "macs: 256, u65: 1, memory: dedicated-sram, cache: 16"} {
		c := driver.Defaults()
		c.Board = filepath.Join(t.TempDir(), "npu.yaml")
		text := "inherits: [host]\naccelerators:\n- {name: npu0, kind: ethosu, params: {" + params + "}}\n"
		testenv.OK(t, os.WriteFile(c.Board, []byte(text), 0o666))
		c.Name, c.Cases = fmt.Sprint("net", i), 2
		if i%2 == 1 { // as little as there is
			c.MaxRAM = "1"
		}
		o := compileNet(t, irtest.Parse(t, convNet(uint64(i+1))), &c)
		segments += len(o.Report.Segments)
		if v := mustVerify(t, o); v.Differs() {
			t.Errorf("%s\n%s", params, v.Text())
		}
	}
	testenv.Check(t, segments > 5, "%d segments: the networks show nothing", segments)
}

// TestEthosURows: functions of one value in a row are one operation where the device refuses each of them: a change of
// scale in integers, and a function by a table.
func TestEthosURows(t *testing.T) {
	for _, c := range []struct{ name, in, row string }{
		{"int16 to int8, rounded twice", "i16[1,96]", `
  const %lo : i32[] = {-128}
  const %hi : i32[] = {127}
  %a : i32[1,96] = Cast(%x) {to=6}
  %b : i32[1,96] = nncc.Rescale(%a) {mult=1450798206, shift=-6}
  %d : i32[1,96] = Add(%b, %lo)
  %e : i32[1,96] = Max(%d, %lo)
  %f : i32[1,96] = Min(%e, %hi)
  %y : i8[1,96] = Cast(%f) {to=3}`},
		{"bits by a table", "i8[1,96]", `
  const %mask : i32[] = {11}
  %a : i32[1,96] = Cast(%x) {to=6}
  %b : i32[1,96] = BitwiseXor(%a, %mask)
  %y : i8[1,96] = Cast(%b) {to=3}`},
	} {
		o := driver.Defaults()
		o.Board, o.Name, o.Cases = "ethos-u55-128", "net", 2
		g := irtest.Parse(t, "graph \"g\" {\n  in %x : "+c.in+c.row+"\n  out \"y\" = %y\n}")
		m := compileNet(t, g, &o)
		n := m.Report.ComputeFallback()
		testenv.Check(t, len(m.Report.Segments) == 1 && n == 0, "%s: %d segments, %d nodes outside", c.name,
			len(m.Report.Segments), n)
		v := mustVerify(t, m)
		testenv.Check(t, !v.Differs(), "%s: %s", c.name, v.Text())
	}
}
