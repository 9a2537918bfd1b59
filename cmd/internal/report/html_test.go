// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", 1234567: "1,234,567",
		-123: "-123"} {
		testenv.Equal(t, thousands(n), want, "%d is", n)
	}
}

// TestKernelClass: what the arena's plan moves is no fallback.
func TestKernelClass(t *testing.T) {
	moved := Layer{Kernel: "nncc_copy_rows", Library: portable, planned: true}
	if c, runs := kernelClass(moved), runsOn(moved); c != "planned" || runs != "a copy" {
		t.Errorf("%s, %s", c, runs)
	}
	if moved.planned = false; kernelClass(moved) != "portable" {
		t.Error("any other portable kernel is one")
	}
	css, err := os.ReadFile("page/page.css")
	testenv.OK(t, err)
	for _, c := range classes {
		testenv.Check(t, strings.Contains(string(css), "."+c.Class+" { --k"), "no colour of %s", c.Class)
	}
}
