package driver

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nncc/nncc/codegen"
)

// Write puts the firmware folder in place, complete or not at all. A folder
// that nncc wrote before is replaced, files in it that are not nncc's are kept;
// any other folder that is not empty is refused.
func (o *Compiled) Write(dir string) error {
	files := append(append([]codegen.File(nil), o.Files...), codegen.File{Path: "report.json", Data: o.Report.JSON()})
	return WriteFolder(dir, files)
}

// WriteFolder is the mechanism of Write.
func WriteFolder(dir string, files []codegen.File) error {
	dir = filepath.Clean(dir)
	old, err := ours(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return &InputError{err}
	}
	tmp, err := os.MkdirTemp(parent, ".nncc-")
	if err != nil {
		return &InputError{err}
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := writeFiles(tmp, files); err != nil {
		return err
	}
	if old == nil {
		if exists(dir) { // empty
			if err := os.Remove(dir); err != nil {
				return &InputError{err}
			}
		}
		return os.Rename(tmp, dir)
	}
	if err := keepForeign(dir, tmp, old); err != nil {
		return err
	}
	away, err := os.MkdirTemp(parent, ".nncc-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(away)
	if err := os.Rename(dir, filepath.Join(away, "old")); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return os.Rename(filepath.Join(away, "old"), dir)
	}
	return nil
}

// ours gives the files that nncc wrote into dir; nil when dir is absent or
// empty; an error when it is somebody else's.
func ours(dir string) (map[string]bool, error) {
	st, err := os.Lstat(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, &InputError{err}
	}
	if !st.IsDir() {
		return nil, &InputError{fmt.Errorf("%s exists and is no folder", dir)}
	}
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil, &InputError{err}
	}
	if len(es) == 0 {
		return nil, nil
	}
	var r struct {
		Generator string   `json:"generator"`
		Files     []string `json:"files"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Generator != "nncc" {
		return nil, &InputError{fmt.Errorf("%s is not empty and was not written by nncc: choose another --out, or remove it", dir)}
	}
	m := map[string]bool{}
	for _, f := range r.Files {
		m[filepath.FromSlash(f)] = true
	}
	return m, nil
}

// keepForeign moves what is not nncc's from the old folder to the new one,
// unless a new file has the same name. Objects of the emitted Makefile go.
func keepForeign(dir, tmp string, old map[string]bool) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() && rel == "build" {
			return filepath.SkipDir
		}
		if e.IsDir() || old[rel] {
			return nil
		}
		to := filepath.Join(tmp, rel)
		if exists(to) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.Rename(p, to)
	})
}

func writeFiles(dir string, files []codegen.File) error {
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(p, f.Data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
