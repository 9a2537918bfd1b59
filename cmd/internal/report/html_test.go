// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", 1234567: "1,234,567",
		-123: "-123"} {
		testenv.Equal(t, thousands(n), want, "%d is", n)
	}
}
