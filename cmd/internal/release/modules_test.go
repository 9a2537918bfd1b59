// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReplaced: a module that a folder replaces is listed by its own name, with the license
// that lies in the folder; no path of this machine is told.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/main\n\ngo 1.26\n\nrequire example.org/part v1.2.3\n\n" +
			"replace example.org/part => ./part\n",
		"main.go":      "package main\n\nimport _ \"example.org/part\"\n\nfunc main() {}\n",
		"part/go.mod":  "module example.org/part\n\ngo 1.26\n",
		"part/part.go": "package part\n",
		"part/LICENSE": "Permission is hereby granted, free of charge, to anyone\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(text), 0o666))
	}
	t.Chdir(dir)
	if b, err := exec.Command("go", "build", "-o", "main", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	list, err := readModules("main")
	must(t, err)
	if len(list) != 2 || list[1].path != "example.org/part" || list[1].version != "v1.2.3" || list[1].spdx != "MIT" {
		t.Errorf("%d modules, the last %s %s of license %s", len(list), list[len(list)-1].path,
			list[len(list)-1].version, list[len(list)-1].spdx)
	}
}
