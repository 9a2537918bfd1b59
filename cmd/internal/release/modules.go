// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
)

// module is what a binary is made of beside nncc itself.
type module struct {
	path, version, sum string
	spdx               string // an expression of licenses; "": not known by its text
	texts              []byte
}

// licenseFiles are the files of a module that its license asks to pass on.
var licenseFiles = regexp.MustCompile(`^(?i)(licen[cs]e|copying|notice|patents|authors)`)

// readModules reads the modules from a binary's build info, Go's own library first.
func readModules(binary string) (_ []module, err error) {
	defer fail.Catch(&err)
	info := fail.Must(buildinfo.ReadFile(binary))
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	std := module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	fail.Check(std.license(strings.TrimSpace(string(root))))
	out := []module{std}
	for _, d := range info.Deps {
		// The module graph knows the path that is required; its folder is that of what replaces it.
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", d.Path).Output()
		if err != nil {
			return nil, fmt.Errorf("go list -m %s: %w", d.Path, err)
		}
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		// A folder has no version of its own, and no path of this machine is told.
		if r := d.Replace; r != nil && r.Version != "" && r.Version != "(devel)" {
			m = module{path: r.Path, version: r.Version, sum: r.Sum}
		}
		fail.Check(m.license(strings.TrimSpace(string(dir))))
		out = append(out, m)
	}
	return out, nil
}

func (m *module) license(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("module %s: %w", m.path, err)
	}
	for _, f := range list {
		if f.IsDir() || !licenseFiles.MatchString(f.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if m.spdx == "" {
			m.spdx = spdx(string(b))
		}
		m.texts = append(append(m.texts, b...), '\n')
	}
	if m.texts == nil {
		return fmt.Errorf("module %s has no license file", m.path)
	}
	return nil
}

// spdx tells licenses by their words, joined by AND where a text has several; "" where it has none of the usual ones.
func spdx(text string) string {
	s := strings.Join(strings.Fields(text), " ")
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
	}
	bsd := has("Redistribution and use in source and binary forms")
	attributed := has("Neither the name", "names of its contributors")
	var list []string
	for _, l := range []struct {
		id string
		is bool
	}{
		{"Apache-2.0", has("Apache License Version 2.0", "under the Apache License, Version 2.0")},
		{"MPL-2.0", has("Mozilla Public License") && has("2.0")},
		{"MIT", has("Permission is hereby granted, free of charge")},
		{"BSD-3-Clause", bsd && attributed},
		{"BSD-2-Clause", bsd && !attributed},
	} {
		if l.is {
			list = append(list, l.id)
		}
	}
	return strings.Join(list, " AND ")
}

// licenseTexts are the licenses of all modules, one after the other.
func licenseTexts(list []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("nncc contains the following modules, each under its own license.\n")
	for _, m := range list {
		fmt.Fprintf(&b, "\n%s\n%s %s\n%s\n\n", strings.Repeat("=", 80), m.path, m.version, strings.Repeat("=", 80))
		b.Write(m.texts)
	}
	return b.Bytes(), nil
}

type object = map[string]any

// sbom is the bill of materials of a binary, CycloneDX 1.5.
func sbom(list []module, target string, binary []byte, at commit) ([]byte, error) {
	components := []object{}
	for _, m := range list {
		c := object{"type": "library", "name": m.path, "version": m.version, "purl": purl(m.path, m.version),
			"bom-ref": purl(m.path, m.version)}
		if m.spdx != "" {
			c["licenses"] = []object{licensed(m.spdx)}
		}
		if m.sum != "" {
			c["properties"] = []object{{"name": "go:sum", "value": m.sum}}
		}
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b object) int {
		return strings.Compare(a["name"].(string), b["name"].(string))
	})
	self := purl("github.com/nncc/nncc", "v"+driver.Version)
	var refs []string
	for _, c := range components {
		refs = append(refs, c["bom-ref"].(string))
	}
	bill := object{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": object{"timestamp": at.date.Format(time.RFC3339), "component": object{"type": "application",
			"name": "nncc", "version": driver.Version, "purl": self, "bom-ref": self,
			"licenses":   []object{{"license": object{"id": "Apache-2.0"}}},
			"hashes":     []object{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sha256.Sum256(binary))}},
			"properties": []object{{"name": "target", "value": target}, {"name": "commit", "value": at.hash}}}},
		"components":   components,
		"dependencies": []object{{"ref": self, "dependsOn": refs}}}
	b, err := json.MarshalIndent(bill, "", "  ")
	return append(b, '\n'), err
}

// licensed is a license, or an expression of several.
func licensed(expression string) object {
	if strings.Contains(expression, " AND ") {
		return object{"expression": expression}
	}
	return object{"license": object{"id": expression}}
}

// purl is a module's package URL.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
