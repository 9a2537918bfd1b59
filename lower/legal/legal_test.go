// SPDX-License-Identifier: Apache-2.0

package legal_test

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower/legal"
)

func TestGolden(t *testing.T) { irtest.Golden(t, "../testdata/legal/*.txtar", legal.Passes) }
