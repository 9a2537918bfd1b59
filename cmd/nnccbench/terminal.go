// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"strings"
)

// Geometry of the picture, in pixels.
const lineHeight, charWidth, margin = 18, 7.85, 16

// terminal runs commands in dir, with the nncc that lies at program, and writes
// what they print as an SVG: a picture of a real run. The first word of a command
// is "nncc"; lines of more than columns characters go on in the next one.
func terminal(program, dir, to string, columns int, commands ...string) error {
	var lines []string
	for _, c := range commands {
		cmd := exec.Command(program, strings.Fields(c)[1:]...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		for _, line := range strings.Split("$ "+c+"\n"+strings.TrimRight(string(out), "\n"), "\n") {
			for len(line) > columns {
				at := strings.LastIndexByte(line[:columns], ' ') + 1
				lines, line = append(lines, line[:at]), "  "+line[at:]
			}
			lines = append(lines, line)
		}
	}
	var b strings.Builder
	width, height := int(charWidth*float64(columns))+2*margin, lineHeight*len(lines)+2*margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-size=\"13\" "+
		"font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n", width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#101820\"/>\n", width, height)
	for i, line := range lines {
		color := "#c9d4de"
		if strings.HasPrefix(line, "$ ") {
			color = "#7fd1ae"
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n", margin,
			margin+lineHeight*(i+1)-5, color, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(to, []byte(b.String()), 0o666)
}
