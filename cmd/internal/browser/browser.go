// SPDX-License-Identifier: Apache-2.0

// Package browser drives a headless Chromium in tests of pages.
package browser

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Tab is a tab of a browser of its own.
type Tab struct{ ctx context.Context }

// New starts Chromium with a window of the given size in pixels; the test ends
// as testenv.Lacks says where there is none. When the test ends, errors of the
// page's scripts, and what it wanted to load and could not, fail it.
func New(t testing.TB, width, height int64) *Tab {
	t.Helper()
	path := testenv.Tool(t, "chromium", "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("disable-dev-shm-usage", true))
	if os.Getuid() == 0 { // the browser's sandbox wants another user
		options = append(options, chromedp.NoSandbox)
	}
	all, cancelAll := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancelAll)
	ctx, cancel := chromedp.NewContext(all)
	b := &Tab{ctx}
	b.Resize(t, width, height)
	told := make(chan []string)
	messages := chromedp.Console(ctx)
	go func() {
		var errors []string
		for m, err := range messages {
			if err != nil {
				break
			}
			if m.IsException() || m.Type == chromedp.ConsoleError {
				errors = append(errors, m.String()+" ("+m.URL+")")
			}
		}
		told <- errors
	}()
	t.Cleanup(func() {
		cancel()
		for _, e := range <-told {
			t.Errorf("the page: %s", e)
		}
	})
	return b
}

func (b *Tab) do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// Open loads a page and waits for it.
func (b *Tab) Open(t testing.TB, url string) {
	t.Helper()
	b.do(t, chromedp.Navigate(url))
}

// OpenFile loads a page from a file.
func (b *Tab) OpenFile(t testing.TB, path string) {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	b.Open(t, "file://"+filepath.ToSlash(abs))
}

// Resize gives the window another size in pixels.
func (b *Tab) Resize(t testing.TB, width, height int64) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, height))
}

// Print shows the page as it is printed.
func (b *Tab) Print(t testing.TB) { b.Media(t, "print", false) }

// Media shows the page on a medium ("": a screen), in dark colours or light ones.
func (b *Tab) Media(t testing.TB, media string, dark bool) {
	t.Helper()
	scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "light"}
	if dark {
		scheme.Value = "dark"
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{scheme}}); err != nil {
		t.Fatal(err)
	}
}

// Wait waits until a script's expression is true, for as long as the test may run.
func (b *Tab) Wait(t testing.TB, expression string) {
	t.Helper()
	b.do(t, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0)))
}

// Run runs a script.
func (b *Tab) Run(t testing.TB, script string) {
	t.Helper()
	b.do(t, chromedp.Evaluate[chromedp.Void](script, chromedp.EvalAwaitPromise))
}

// Click clicks in the middle of the first element that a CSS selector finds, when it is visible and rests: pages scroll
// smoothly, and a click while they do lands beside the element.
func (b *Tab) Click(t testing.TB, selector string) {
	t.Helper()
	b.do(t, chromedp.WaitVisible(chromedp.CSS(selector)))
	b.Run(t, "("+rests+")("+strconv.Quote(selector)+")")
	b.do(t, chromedp.Click(chromedp.CSS(selector)))
}

// rests brings an element into the window and waits until it has not moved for five frames.
const rests = `selector => new Promise(done => {
	const element = document.querySelector(selector);
	element.scrollIntoView({behavior: "instant", block: "nearest"});
	let last = "", still = 0;
	requestAnimationFrame(function look() {
		const r = element.getBoundingClientRect(), at = r.left + "," + r.top;
		still = at === last ? still + 1 : 0;
		last = at;
		if (still < 5) { requestAnimationFrame(look); } else { done(); }
	});
})`

// Keys types into an element.
func (b *Tab) Keys(t testing.TB, selector, keys string) {
	t.Helper()
	b.do(t, chromedp.SendKeys(chromedp.CSS(selector), keys))
}

// Download runs a script that makes the browser load a file, and gives the file.
func (b *Tab) Download(t testing.TB, script string) []byte {
	t.Helper()
	dir, events := t.TempDir(), true
	if _, err := chromedp.CallBrowser(b.ctx, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{
		Behavior: cdp.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: dir, EventsEnabled: &events}); err != nil {
		t.Fatal(err)
	}
	progress := chromedp.BrowserEvents(b.ctx, cdp.DownloadProgress)
	b.Run(t, script)
	for e, err := range progress {
		if err != nil {
			t.Fatal(err)
		}
		switch e.State {
		case cdp.DownloadProgressStateCompleted:
			data, err := os.ReadFile(filepath.Join(dir, e.GUID))
			if err != nil {
				t.Fatal(err)
			}
			return data
		case cdp.DownloadProgressStateCanceled:
			t.Fatal("the browser gave the download up")
		}
	}
	t.Fatal("the browser ended")
	return nil
}

// Value gives what a script's expression is worth; a promise is waited for.
func Value[T any](t testing.TB, b *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Picture is the whole page as a PNG.
func (b *Tab) Picture(t testing.TB) []byte {
	t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	return png
}

// Keep writes the page's picture into the folder of NNCC_PICTURES, for a person to look at.
func (b *Tab) Keep(t testing.TB, name string) {
	t.Helper()
	dir := testenv.Get("NNCC_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b.Picture(t), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Fits fails where the page is wider than the window: something is clipped or has to be scrolled to.
func (b *Tab) Fits(t testing.TB) {
	t.Helper()
	if over := Value[int](t, b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("the page is %d pixels wider than the window", over)
	}
}

//go:embed clipped.js
var clipped string

// Reads fails where the page cannot be read: texts that overlap or are cut, boxes of drawings that cover each
// other, what is wider than the window; what names the page.
func (b *Tab) Reads(t testing.TB, what string) {
	t.Helper()
	b.Fits(t)
	for _, s := range Value[[]string](t, b, clipped) {
		t.Errorf("%s: %s", what, s)
	}
}

// Sizes are the widths at which pages are looked at: of a telephone and of a desk.
var Sizes = []int64{390, 1280}
