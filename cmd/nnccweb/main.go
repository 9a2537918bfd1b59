// SPDX-License-Identifier: Apache-2.0

// nnccweb writes a folder of static files in which nncc runs as a page: the
// command line itself, as WebAssembly, over a file system in memory.
//
//	go run ./cmd/nnccweb --out web
//	go run ./cmd/nnccweb --out docs --site     # with guides and tables around it
//	go run ./cmd/nnccweb --out web --serve localhost:8080
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// page holds what is served beside the program.
//
//go:embed page
var page embed.FS

// program is the file of the compressed program.
const program = "nncc.wasm.gz"

// example has the model that a visitor may try.
const example = "cmd/nncc/examples/digits"

func main() {
	out := pflag.String("out", "web", "folder to write")
	serve := pflag.String("serve", "", "then serve it at this address, localhost:8080 for one")
	site := pflag.Bool("site", false, "the pages of the repository, and the program below "+tryFolder)
	pflag.Parse()
	if err := run(*out, *serve, *site); err != nil {
		fmt.Fprintf(os.Stderr, "nnccweb: %v\n", err)
		os.Exit(1)
	}
}

func run(out, serve string, site bool) (err error) {
	defer fail.Catch(&err)
	list := fail.Must(Files())
	if site {
		for i := range list {
			list[i].Path = tryFolder + list[i].Path
		}
		list = append(list, fail.Must(Site())...)
	}
	fail.Check(files.WriteTree(out, list))
	total := lists.Sum(list, func(f files.File) int { return len(f.Data) })
	fmt.Printf("%s: %d files, %.1f MB; any web server can serve them\n", out, len(list), float64(total)/1e6)
	if serve == "" {
		return nil
	}
	l := fail.Must(net.Listen("tcp", serve))
	fmt.Printf("http://%s/\n", l.Addr())
	server := &http.Server{Handler: http.FileServer(http.Dir(out)), ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(l)
}

// Files are the files of the folder: the page, Go's support for WebAssembly as
// the toolchain brings it, and the compressed program.
func Files() (_ []files.File, err error) {
	defer fail.Catch(&err)
	wasm := fail.Must(build())
	packed := fail.Must(compress(wasm))
	support := fail.Must(supportScript())
	list := []files.File{{Path: program, Data: packed}, {Path: "wasm_exec.js", Data: support}}
	sum := sha256.New()
	sum.Write(packed)
	err = fs.WalkDir(page, "page", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := page.ReadFile(p)
		sum.Write(b)
		list = append(list, files.File{Path: path.Base(p), Data: b})
		return err
	})
	version := hex.EncodeToString(sum.Sum(nil)[:8])
	for _, name := range []string{"digits.onnx", "digits_calib.npz"} {
		list = append(list, files.File{Path: name, Data: fail.Must(os.ReadFile(filepath.Join(example, name)))})
	}
	for i, f := range list {
		if f.Path == "offline.js" {
			list[i].Data = bytes.ReplaceAll(f.Data, []byte("VERSION"), []byte(version))
		}
	}
	return list, err
}

// compiling keeps what go build -v writes, a line for each package, and says how many there were.
type compiling struct {
	to   io.Writer
	all  []byte
	said int
}

func (c *compiling) Write(p []byte) (int, error) {
	c.all = append(c.all, p...)
	if n := bytes.Count(c.all, []byte("\n")); n >= c.said+25 {
		c.said = n
		fmt.Fprintf(c.to, "nncc as WebAssembly: %d packages compiled\n", n)
	}
	return len(p), nil
}

// build compiles the command line.
func build() ([]byte, error) {
	dir := fail.Must(os.MkdirTemp("", "nnccweb"))
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "nncc.wasm")
	c := exec.Command("go", "build", "-v", "-trimpath", "-ldflags=-s -w", "-o", to, "github.com/nncc/nncc/cmd/nncc")
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	said := &compiling{to: os.Stderr}
	c.Stdout, c.Stderr = said, said
	fmt.Fprintln(os.Stderr, "nncc as WebAssembly: compiling, minutes the first time")
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go build for js/wasm: %w\n%s", err, said.all)
	}
	fmt.Fprintln(os.Stderr, "nncc as WebAssembly: packing")
	return os.ReadFile(to)
}

func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z := fail.Must(gzip.NewWriterLevel(&out, gzip.BestCompression))
	_, err := z.Write(b)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// supportScript is the script of Go's own that loads a Go program.
func supportScript() ([]byte, error) {
	root := fail.Must(exec.Command("go", "env", "GOROOT").Output())
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
}
