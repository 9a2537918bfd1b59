// SPDX-License-Identifier: Apache-2.0

package model

import (
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestLimitsSet(t *testing.T) {
	var l Limits
	for _, s := range []string{"nodes=7", "work=2G", "elements=3K", "depth=1"} {
		if err := l.Set(s); err != nil {
			t.Error(err)
		}
	}
	l = l.OrDefault()
	if l.Nodes != 7 || l.Work != 2<<30 || l.Elements != 3<<10 || l.Depth != 1 ||
		l.FileBytes != DefaultLimits.FileBytes || l.Trips != DefaultLimits.Trips {
		t.Errorf("%+v", l)
	}
	for s, want := range map[string]string{
		"nodes": "want NAME=N", "": "want NAME=N", "node=1": "want one of file, memory, names, nodes",
		"nodes=0": "from 1", "nodes=-1": "from 1",
		"nodes=": "from 1", "nodes=K": "from 1", "nodes=1KK": "from 1", "nodes=1.5": "from 1",
		"work=9223372036854775807": "from 1", "work=99999999999G": "from 1",
	} {
		if err := l.Set(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", s, err, want)
		}
	}
	readme, err := os.ReadFile("README.md")
	testenv.OK(t, err)
	for _, x := range limits {
		if row := "| `" + x.name + "` | " + x.doc + " |"; !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks %s", row)
		}
	}
}
