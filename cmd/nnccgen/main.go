// SPDX-License-Identifier: Apache-2.0

// Command nnccgen writes what is generated from data files and headers.
//
//	nnccgen [-root DIR] params                          Go types of the structs of the runtime
//	nnccgen [-root DIR] import-schemas CHANGELOG.md...  ONNX's operators, as data
//	nnccgen c DIR                                       the C of the runtime as compilers see it
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	runtimec "github.com/nncc/nncc/runtime_c"
)

func main() {
	root := flag.String("root", ".", "root of the nncc repository")
	flag.Parse()
	if err := run(*root, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "nnccgen:", err)
		os.Exit(2)
	}
}

func run(root string, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "params":
		text, err := params(root)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, paramsFile), text, 0o644)
	case len(args) > 1 && args[0] == "import-schemas":
		return importSchemas(root, args[1:])
	case len(args) == 2 && args[0] == "c":
		return runtimec.WriteTree(args[1])
	}
	return fmt.Errorf("want params, import-schemas with ONNX's change logs (docs/Changelog.md, docs/Changelog-ml.md), "+
		"or c with a folder; got %q", args)
}
