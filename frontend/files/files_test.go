// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func manifest(list ...File) File {
	paths, sums := []string{"report.json"}, map[string]string{}
	for _, f := range list {
		paths, sums[f.Path] = append(paths, f.Path), Hash(f.Data)
	}
	b, _ := json.Marshal(map[string]any{"generator": "nncc", "files": paths, "file_hashes": sums})
	return File{"report.json", b}
}

func write(dir string, list ...File) error {
	f, err := NewFolder(dir, "report.json")
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := f.Add(append(list, manifest(list...))...); err != nil {
		return err
	}
	return f.Commit()
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			m[rel], err = os.Readlink(p)
		case e.Type().IsRegular():
			var b []byte
			b, err = os.ReadFile(p)
			m[rel] = string(b)
		case e.IsDir() && rel != ".":
			m[rel+"/"] = ""
		}
		return err
	})
	testenv.OK(t, err)
	delete(m, "report.json")
	return m
}

func same(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	testenv.Check(t, maps.Equal(got, want), "%s: got %v, want %v", dir, got, want)
}

// ways are the ways by which a folder can get to its place.
func ways(t *testing.T, f func(t *testing.T, dir string)) {
	t.Run("beside", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "a", "out")) })
	t.Run("current", func(t *testing.T) {
		dir := t.TempDir()
		t.Chdir(dir)
		f(t, dir)
	})
	t.Run("relative", func(t *testing.T) {
		t.Chdir(t.TempDir())
		f(t, "out")
	})
}

func TestFolder(t *testing.T) {
	ways(t, func(t *testing.T, dir string) {
		testenv.OK(t, write(dir, File{"a.c", []byte("1")}, File{"nncc/k.c", []byte("1")}))
		same(t, dir, map[string]string{"a.c": "1", "nncc/": "", "nncc/k.c": "1"})
		// The user's: a file, one in nncc's folder, a link, an empty folder; objects.
		for p, text := range map[string]string{"own.txt": "own", "nncc/own.c": "own", ".git/refs/x": "ref",
			"build/a.o": "object"} {
			testenv.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o777))
			testenv.OK(t, os.WriteFile(filepath.Join(dir, p), []byte(text), 0o600))
		}
		testenv.OK(t, errors.Join(os.Mkdir(filepath.Join(dir, ".git", "tags"), 0o755),
			os.Symlink("/nowhere", filepath.Join(dir, "link"))))
		testenv.OK(t, write(dir, File{"b.c", []byte("2")}, File{"nncc/k2.c", []byte("2")}))
		got := tree(t, dir)
		delete(got, "build/")
		delete(got, "build/a.o")
		want := map[string]string{"b.c": "2", "nncc/": "", "nncc/k2.c": "2", "nncc/own.c": "own", "own.txt": "own",
			"link": "/nowhere", ".git/": "", ".git/refs/": "", ".git/refs/x": "ref", ".git/tags/": ""}
		testenv.Check(t, maps.Equal(got, want), "got %v, want %v", got, want)
		if st, err := os.Stat(filepath.Join(dir, "own.txt")); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", st.Mode(), err)
		}
		// A file of the user's is not written over.
		testenv.Refused(t, write(dir, File{"own.txt", []byte("3")}), "own.txt was not written by nncc")
		delete(got, "build/")
		now := tree(t, dir)
		testenv.Check(t, now["b.c"] == "2" && now["own.txt"] == "own", "a refusal changed something: %v", now)
		// Nothing stays beside it.
		es, err := os.ReadDir(filepath.Dir(dir))
		for _, e := range es {
			testenv.Check(t, !strings.HasPrefix(e.Name(), ".nncc"), "left behind: %v %v", e, err)
		}
	})
}

// TestFolderKeepsEdits: what a user edited stays, run by run, with what nncc writes now beside it, until it is
// nncc's again; what the user removed comes back; one that nncc writes no more becomes the user's.
func TestFolderKeepsEdits(t *testing.T) {
	ways(t, func(t *testing.T, dir string) {
		edit := func(p, text string) {
			testenv.OK(t, os.WriteFile(filepath.Join(dir, p), []byte(text), 0o640))
		}
		run := func(wantKept string, list ...File) {
			t.Helper()
			f := testenv.Must(NewFolder(dir, "report.json"))(t)
			defer f.Discard()
			testenv.OK(t, errors.Join(f.Add(append(list, manifest(list...))...), f.Commit()))
			testenv.Equal(t, strings.Join(f.Kept(), " "), wantKept, "kept")
		}
		all := func(n string) []File {
			return []File{{"Makefile", []byte("m" + n)}, {"s/main.c", []byte("s\n" + n)}, {"s/x.c", []byte("x" + n)}}
		}
		run("", all("1")...)
		edit("s/main.c", "mine")
		edit("s/x.c", "mine, too")
		testenv.OK(t, os.Remove(filepath.Join(dir, "Makefile")))
		for _, n := range []string{"1", "2", "3"} {
			run("s/main.c s/x.c", all(n)...)
			same(t, dir, map[string]string{"Makefile": "m" + n, "s/": "", "s/main.c": "mine", "s/main.c.new": "s\n" + n,
				"s/x.c": "mine, too", "s/x.c.new": "x" + n})
		}
		edit("s/main.c", "s\r\n3") // taken over, by an editor that ends lines in its own way
		run("s/x.c", all("4")[:2]...)
		same(t, dir, map[string]string{"Makefile": "m4", "s/": "", "s/main.c": "s\n4", "s/x.c": "mine, too"})
		run("", all("5")[:2]...)
		same(t, dir, map[string]string{"Makefile": "m5", "s/": "", "s/main.c": "s\n5", "s/x.c": "mine, too"})
		edit("s/main.c", "mine again")
		run("s/main.c", all("6")[:2]...)
		edit("s/main.c.new", "mine as well")
		f := testenv.Must(NewFolder(dir, "report.json"))(t)
		defer f.Discard()
		testenv.Refused(t, errors.Join(f.Add(append(all("7")[:2], manifest(all("7")[:2]...))...), f.Commit()),
			"main.c.new was not written by nncc")
	})
}

func TestFolderRefuses(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "theirs")
	testenv.OK(t, errors.Join(os.Mkdir(theirs, 0o777), os.WriteFile(filepath.Join(theirs, "x"), nil, 0o666),
		os.Symlink(theirs, filepath.Join(dir, "link")), os.Symlink("nowhere", filepath.Join(dir, "dangling"))))
	for path, want := range map[string]string{
		theirs:                         "was not written by nncc",
		filepath.Join(dir, "link"):     "symbolic link",
		filepath.Join(dir, "dangling"): "symbolic link",
		filepath.Join(theirs, "x"):     "is no folder",
		os.DevNull:                     "a device",
		filepath.Join(os.DevNull, "x"): "",
	} {
		testenv.Refused(t, write(path, File{"a", nil}), want)
	}
	es, err := os.ReadDir(dir)
	testenv.Check(t, err == nil && len(es) == 3, "%v %v", es, err)
}

// TestFolderConcurrent: goroutines stand for processes; locks of one process
// keep each other out as well.
func TestFolderConcurrent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for range 20 {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				n := []byte(fmt.Sprint(i))
				err := write(dir, File{"a" + string(n), n}, File{"b/c", n})
				testenv.Check(t, err == nil, "%v", err)
			})
		}
		wg.Wait()
		got := tree(t, dir)
		n := got["b/c"]
		testenv.Require(t, len(got) == 3 && got["a"+n] == n, "a mixture: %v", got)
	}
}

// TestSweep: what processes that were killed left is removed or completed; what
// lives stays.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "out")
	dead := filepath.Join(base, stagePrefix+"1")
	testenv.OK(t, errors.Join(os.MkdirAll(filepath.Join(dead, "old"), 0o777),
		os.WriteFile(filepath.Join(dead, "old", "report.json"), manifest().Data, 0o666),
		os.WriteFile(filepath.Join(dead, "target"), []byte(dir), 0o666)))
	alive := testenv.Must(NewFolder(filepath.Join(base, "other"), "report.json"))(t)
	_, err := os.Stat(filepath.Join(dir, "report.json"))
	testenv.Check(t, err == nil, "the folder that had been moved away is not back: %v", err)
	testenv.OK(t, write(dir, File{"a", nil}))
	if err := errors.Join(alive.Add(manifest()), alive.Commit()); err != nil {
		t.Errorf("the stage of a living process was removed: %v", err)
	}
	alive.Discard()
	if es, err := os.ReadDir(base); err != nil || len(es) != 2 {
		t.Errorf("%v %v", es, err)
	}
}

func TestReplace(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	in := filepath.Join(dir, "in.onnx")
	testenv.OK(t, errors.Join(os.WriteFile(victim, []byte("v"), 0o666), os.WriteFile(in, []byte("in"), 0o666),
		os.Mkdir(filepath.Join(dir, "sub"), 0o777),
		os.Symlink(victim, filepath.Join(dir, "link")), os.Symlink(outside, filepath.Join(dir, "out")),
		os.Symlink("in.onnx", filepath.Join(dir, "inlink")),
		os.WriteFile(filepath.Join(dir, "theirs"), []byte("t"), 0o666), os.WriteFile(filepath.Join(dir, "old"),
			[]byte("mine"), 0o600), os.Chmod(filepath.Join(dir, "old"), 0o640),
		os.Link(in, filepath.Join(dir, "hard"))))
	mine := func(b []byte) bool { return string(b) == "mine" }
	before := tree(t, dir)
	for name, want := range map[string]string{
		"link": "symbolic link", "inlink": "symbolic link", "out/victim": "", "out/new": "", "../x": "leads out",
		"/x": "leads out", "sub": "is a folder",
		"theirs": "not written by nncc", "in.onnx": "is read by this command", "hard": "is read by this command",
		"theirs/x": "",
	} {
		err := Replace(dir, []Target{{Path: "new", Data: []byte("n")}, {Path: "deep/er/new", Data: nil},
			{Path: name, Data: []byte("evil"), Mine: mine}}, in)
		testenv.Refused(t, err, want)
		same(t, dir, before)
	}
	b, err := os.ReadFile(victim)
	testenv.Check(t, err == nil && string(b) == "v", "%q %v", b, err)
	if err := Replace(dir, []Target{{Path: "old", Data: []byte("n"), Mine: mine}, {Path: "theirs", Data: []byte("n")},
		{Path: "a/b", Data: []byte("n")}}, in); err != nil {
		t.Fatal(err)
	}
	before["old"], before["theirs"], before["a/"], before["a/b"] = "n", "n", "", "n"
	same(t, dir, before)
	if st, err := os.Stat(filepath.Join(dir, "old")); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	testenv.Refused(t, Replace(filepath.Dir(os.DevNull), []Target{{Path: filepath.Base(os.DevNull)}}), "a device")
}

// TestRead: what is no regular file is refused without a wait.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err == nil {
		defer l.Close()
		testenv.Check(t, testenv.Err(Read(sock, 10)) != nil, "a socket is read")
	}
	for _, p := range []string{dir, os.DevNull, filepath.Join(dir, "none"), ""} {
		testenv.Check(t, testenv.Err(Read(p, 10)) != nil, "%q is read", p)
	}
	f := filepath.Join(dir, "f")
	testenv.OK(t, os.WriteFile(f, []byte("0123456789"), 0o666))
	if b, err := Read(f, 10); err != nil || string(b) != "0123456789" {
		t.Errorf("%q %v", b, err)
	}
	var size *SizeError
	if _, err := Read(f, 9); !errors.As(err, &size) || size.Size != 10 {
		t.Errorf("got %v", err)
	}
}

// TestPortable: any text becomes a name within a folder, of bounded length, that is no
// device on Windows and not hidden; long ones that differ in their ends stay apart.
func TestPortable(t *testing.T) {
	for in, want := range map[string]string{"a/b": "a_b", "": "_", "..": "_", "../../x": "_.._x", "NUL": "_NUL",
		"con.npy": "_con.npy", "/conv/Conv_output_0": "_conv_Conv_output_0", "é\x00;": "___", ".hidden": "hidden"} {
		testenv.Equal(t, Portable(in), want, "%q", in)
	}
	long := strings.Repeat("x", 1000)
	a, b := Portable(long+"a"), Portable(long+"b")
	testenv.Check(t, a != b && len(a) <= mostOfName+9 && filepath.IsLocal(a), "%q and %q", a, b)
}

// TestYAML: hostile files are refused at once, with the line; others are read.
func TestYAML(t *testing.T) {
	var keys, bomb strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	bomb.WriteString("a0: &a0 [x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	began := time.Now()
	for text, want := range map[string]string{
		"": "", "# nothing\n": "", "null": "", "a: 1\nb: [1, {c: 2}]": "",
		keys.String():              "line 10000: more than 20000 values",
		bomb.String():              "line 1: anchors and aliases are not accepted; write it out",
		"a: 1\n<<: {}":             "line 2: merge keys",
		"a: 1\n---\nb:":            "a second YAML document",
		"a: [":                     "line ",
		strings.Repeat("[", 60000): "60000 opening brackets",
		strings.Repeat("[", 90) + strings.Repeat("]", 90):      "nested deeper",
		strings.Repeat("- ", 3000) + "x":                       "nested deeper",
		"a: " + strings.Repeat("[[],", 2000) + "]":             "",
		"k: !!binary \x00":                                     "",
		strings.Repeat("? ", 100000) + "\n":                    "",
		"steps: [" + strings.Repeat("x, ", 30000) + "y]\nz: 1": "more than 20000 values",
	} {
		_, err := YAML([]byte(text), "write it out")
		testenv.Check(t, want == "" || err != nil && strings.Contains(err.Error(), want), "%.60q: %v, want %s", text,
			err, want)
		testenv.Check(t, want != "" || err == nil || len(text) >= 40 || strings.Contains(text, "\x00"), "%q: %v",
			text, err)
	}
	d := time.Since(began)
	testenv.Check(t, d <= 10*time.Second, "it took %v", d)
}
