// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// most is how many bytes of compressed files a visitor may have to load.
const most = 12 << 20

// site is the folder, served, and the same nncc as a program of this machine.
type site struct {
	url, dir, program string
	close             func()
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{dir: t.TempDir()}
	t.Chdir(sharedata.Root())
	s.program = filepath.Join(s.dir, "nncc")
	// As the page's is built: the version must not depend on how.
	c := exec.Command("go", "build", "-trimpath", "-o", s.program, "github.com/nncc/nncc/cmd/nncc")
	b, err := c.CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, b)
	list := testenv.Must(Files())(t)
	testenv.OK(t, files.WriteTree(filepath.Join(s.dir, "web"), list))
	for _, f := range list {
		testenv.Check(t, f.Path != program || len(f.Data) <= most, "%s has %d bytes, at most %d are wanted", f.Path,
			len(f.Data), most)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(s.dir, "web"))))
	t.Cleanup(server.Close)
	s.url, s.close = server.URL, server.Close
	return s
}

// drop drops files onto an element.
func drop(t *testing.T, tab *browser.Tab, selector string, paths ...string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("(() => { const d = new DataTransfer();\n")
	for _, p := range paths {
		data := testenv.Must(os.ReadFile(p))(t)
		fmt.Fprintf(&b, "d.items.add(new File([Uint8Array.fromBase64(%q)], %q));\n",
			base64.StdEncoding.EncodeToString(data), filepath.Base(p))
	}
	fmt.Fprintf(&b, "document.querySelector(%q).dispatchEvent(new DragEvent('drop', {dataTransfer: d, bubbles: true, "+
		"cancelable: true})); })()", selector)
	tab.Run(t, b.String())
}

// compiled waits for the end of a compilation that began.
const compiled = `document.querySelector("#verdict").textContent !== ""`

// ready waits for the program and the boards, or for what is in their way.
const ready = `document.querySelector("#compile").textContent !== "Loading…"`

// download gives the files of the zip that the page offers, below its one folder.
func download(t *testing.T, tab *browser.Tab) map[string][]byte {
	t.Helper()
	data := tab.Download(t, `document.querySelector("#zip").click()`)
	z := testenv.Must(zip.NewReader(bytes.NewReader(data), int64(len(data))))(t)
	out := map[string][]byte{}
	for _, f := range z.File {
		b := testenv.Must(fs.ReadFile(z, f.Name))(t)
		_, name, _ := strings.Cut(f.Name, "/")
		out[name] = b
	}
	return out
}

// written are the files of a folder.
func written(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[filepath.ToSlash(rel)] = b
		return err
	})
	testenv.OK(t, err)
	return out
}

func same(t *testing.T, got, want map[string][]byte) {
	t.Helper()
	testenv.Require(t, len(want) != 0, "the command line wrote nothing")
	for name, b := range want {
		testenv.Check(t, bytes.Equal(got[name], b), "%s: the page has %d bytes, the command line another %d", name,
			len(got[name]), len(b))
	}
	for name := range got {
		testenv.Check(t, want[name] != nil, "%s: only the page has it", name)
	}
}

// TestPage drives the page as a visitor does.
func TestPage(t *testing.T) {
	testenv.Slow(t)
	testenv.Tool(t, "chromium", "chromium")
	s := newSite(t)
	t.Run("example", func(t *testing.T) { testExample(t, s) })
	t.Run("refusal", func(t *testing.T) { testRefusal(t, s) })
	type shown struct{ model, calib string }
	for _, m := range []shown{{"kws_int8.onnx", ""}, {"yolov8seg_tiny.onnx", "yolov8seg_tiny.npz"}} {
		t.Run(m.model, func(t *testing.T) {
			model, calib := sharedata.Need(t, "models", m.model), ""
			if m.calib != "" {
				calib = sharedata.Need(t, "calib", m.calib)
			}
			testResponds(t, s, model, calib)
		})
	}
	t.Run("compile", func(t *testing.T) { testCompile(t, s) })
}

// testResponds compiles a model while a clock of the page counts: the page is not frozen, and the sources are the
// command line's.
func testResponds(t *testing.T, s *site, model, calib string) {
	tab := browser.New(t, 1280, 900)
	tab.Open(t, s.url)
	tab.Wait(t, ready)
	drop(t, tab, "#dropmodel", model)
	args := []string{"--board", "cortex-m55", "--out", filepath.Join(t.TempDir(), "out")}
	if calib != "" {
		drop(t, tab, "#dropcalib", calib)
		args = append(args, "--calib", calib)
	}
	tab.Run(t, `document.querySelector("#board").value = "cortex-m55"`)
	// Pauses while the program runs in its worker, not those of showing the report.
	tab.Run(t, `window.beats = []; window.began = performance.now(); window.ended = 0;
		const beat = setInterval(() => {
			if (`+compiled+`) { clearInterval(beat); window.ended = performance.now(); return; }
			window.beats.push(performance.now());
		}, 20)`)
	tab.Click(t, "#compile")
	tab.Wait(t, "window.ended > 0")
	if v := browser.Value[string](t, tab, text("#verdict")); !strings.HasPrefix(v, "Fits: ") {
		t.Fatalf("%s: %s", v, browser.Value[string](t, tab, text("#said")))
	}
	beats := browser.Value[[]float64](t, tab, "window.beats")
	took := browser.Value[float64](t, tab, "window.ended - window.began")
	longest := 0.0
	for i := 1; i < len(beats); i++ {
		longest = max(longest, beats[i]-beats[i-1])
	}
	t.Logf("%.1f s, %d beats of the page's clock, %.0f ms between two at most", took/1000, len(beats), longest)
	testenv.Check(t, len(beats) >= 3 && !(longest > took/2), "the page stood still for %.0f of %.0f ms", longest,
		took)
	c := exec.Command(s.program, append(args, model)...)
	b, err := c.CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, b)
	same(t, download(t, tab), written(t, args[3]))
}

// testExample compiles the model that the page brings along, as a visitor does who has none.
func testExample(t *testing.T, s *site) {
	tab := browser.New(t, 390, 900)
	tab.Open(t, s.url)
	tab.Wait(t, ready)
	tab.Click(t, "#example")
	tab.Wait(t, `!document.querySelector("#compile").disabled`)
	tab.Click(t, "#compile")
	tab.Wait(t, compiled)
	v := browser.Value[string](t, tab, text("#verdict"))
	testenv.Check(t, strings.HasPrefix(v, "Fits: ") && strings.Contains(v, "dB"), "the page says %q", v)
	tab.Fits(t)
}

// text gives a script for an element's text.
func text(selector string) string {
	return fmt.Sprintf("document.querySelector(%q).textContent", selector)
}

// testCompile drops a model and its data, compiles, and holds the zip against what
// the command line writes; then it does without the server.
func testCompile(t *testing.T, s *site) {
	tab := browser.New(t, 1280, 900)
	digits := filepath.Join(sharedata.Root(), "cmd", "nncc", "examples", "digits")
	model, calib := filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digits_calib.npz")
	tab.Open(t, s.url)
	tab.Wait(t, ready)
	drop(t, tab, "#dropmodel", model)
	drop(t, tab, "#dropcalib", calib)
	tab.Run(t, `document.querySelector("#board").value = "cortex-m4"`)
	tab.Keys(t, "#flags", "--name 'seven'")
	tab.Click(t, "#compile")
	tab.Wait(t, compiled)
	if v := browser.Value[string](t, tab, text("#verdict")); !strings.HasPrefix(v, "Fits: ") {
		t.Fatalf("%s: %s", v, browser.Value[string](t, tab, text("#said")))
	}
	out := filepath.Join(s.dir, "out")
	c := exec.Command(s.program, "--board", "cortex-m4", "--calib", calib, "--name", "seven", "--out", out, model)
	b, err := c.CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, b)
	same(t, download(t, tab), written(t, out))
	said := browser.Value[string](t, tab, text("#command"))
	want := "nncc verify --board cortex-m4 --calib digits_calib.npz --name seven digits.onnx"
	testenv.Check(t, strings.Contains(said, want), "the page says %q, want %q in it", said, want)
	html := browser.Value[string](t, tab, `document.querySelector("#page").srcdoc`)
	testenv.Check(t, strings.Contains(html, "digits.onnx"), "the report is not shown")
	for _, width := range []int64{1280, 390} {
		tab.Resize(t, width, 900)
		tab.Fits(t)
		tab.Keep(t, fmt.Sprint("web-", width))
	}
	s.close()
	tab.Wait(t, `navigator.serviceWorker.controller !== null`)
	tab.Open(t, s.url)
	tab.Wait(t, ready)
	testenv.Equal(t, browser.Value[string](t, tab, text("#compile")), "Compile", "without a network the button says")
}

// testRefusal: what is no model ends in words, not in an empty page.
func testRefusal(t *testing.T, s *site) {
	tab := browser.New(t, 390, 900)
	junk := filepath.Join(s.dir, "junk.onnx")
	testenv.OK(t, os.WriteFile(junk, []byte("not a model"), 0o666))
	tab.Open(t, s.url)
	tab.Wait(t, ready)
	drop(t, tab, "#dropmodel", junk)
	tab.Click(t, "#compile")
	tab.Wait(t, compiled)
	if v := browser.Value[string](t, tab, `document.querySelector("#verdict").textContent +
		document.querySelector("#said").textContent`); !strings.Contains(v, "Not compiled") ||
		!strings.Contains(v, "junk.onnx") {
		t.Errorf("junk: the page says %q", v)
	}
	testenv.Check(t, browser.Value[bool](t, tab, `document.querySelector("#downloads").hidden`),
		"junk: sources are offered")
	tab.Fits(t)
}
