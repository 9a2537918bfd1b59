// SPDX-License-Identifier: Apache-2.0

package runtimec_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	runtimec "github.com/nncc/nncc/runtime_c"
)

var (
	cString     = regexp.MustCompile(`"(?:\\.|[^"\\\n])*"`)
	cDefine     = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+\b)(?:[^\n]*\\\n)*[^\n]*`)
	cCall       = regexp.MustCompile(`\b([A-Za-z_]\w*)\(`)
	cRegister   = regexp.MustCompile(`\bregister\b[^;=]*?(\w+)\s+__asm\(|\bNNCC_REG\([^,]*,\s*(\w+),`)
	notCalled   = []string{"if", "for", "while", "switch", "return", "sizeof", "__asm", "volatile", "NNCC_REG"}
	isMacroName = regexp.MustCompile(`^[A-Z_0-9]+$`)
)

// plainC is C without comments and the text of strings.
func plainC(text string) string {
	return cString.ReplaceAllString(cComment.ReplaceAllString(text, " "), `""`)
}

// callingMacros adds the macros of a file: true where their bodies call functions. What has one body in assembly and
// one in intrinsics is the first where variables have registers.
func callingMacros(text string, macros map[string]bool) {
	for _, m := range cDefine.FindAllStringSubmatch(plainC(text), -1) {
		_, body, _ := strings.Cut(m[0], m[1])
		params := ""
		if strings.HasPrefix(body, "(") {
			params, body, _ = strings.Cut(body, ")")
		}
		calls := false
		for _, c := range cCall.FindAllStringSubmatch(body, -1) {
			if !isMacroName.MatchString(c[1]) && !slices.Contains(notCalled, c[1]) &&
				!slices.Contains(cName.FindAllString(params, -1), c[1]) {
				calls = true
			}
		}
		all, known := macros[m[1]]
		macros[m[1]] = calls && (all || !known)
	}
}

// restOfBlock is what follows in the block and in the branch of #if that text
// starts in.
func restOfBlock(text string) string {
	braces, ifs := 0, 0
	for i := range text {
		switch {
		case text[i] == '{':
			braces++
		case text[i] == '}':
			braces--
		case strings.HasPrefix(text[i:], "#if"):
			ifs++
		case strings.HasPrefix(text[i:], "#endif"):
			ifs--
		case strings.HasPrefix(text[i:], "#el") && ifs == 0:
			return text[:i]
		}
		if braces < 0 || ifs < 0 {
			return text[:i]
		}
	}
	return text
}

// lostRegisters are variables of a file that live in a register of their own
// while a function is called: "variable: function". seen counts all such variables.
func lostRegisters(text string, macros map[string]bool) (lost []string, seen int) {
	code := cDefine.ReplaceAllString(plainC(text), "")
	for _, at := range cRegister.FindAllStringSubmatchIndex(code, -1) {
		seen++
		block := restOfBlock(code[max(at[2], at[4]):])
		name := regexp.MustCompile(`\b` + cName.FindString(block) + `\b`)
		uses := name.FindAllStringIndex(block, -1)
		for _, c := range cCall.FindAllStringSubmatch(block[:uses[len(uses)-1][1]], -1) {
			f := cName.FindString(block) + ": " + c[1]
			if !slices.Contains(notCalled, c[1]) && !slices.Contains(lost, f) &&
				(macros[c[1]] || !isMacroName.MatchString(c[1])) {
				lost = append(lost, f)
			}
		}
	}
	return lost, seen
}

// TestRegisterVariables: no function is called while a variable has a register
// of its own for the assembly that follows. The call may change the register:
// compilers keep it where they inline the function, and not at -O0.
func TestRegisterVariables(t *testing.T) {
	tree := testenv.Must(runtimec.Tree())(t)
	macros, all := map[string]bool{}, 0
	for _, text := range tree {
		callingMacros(string(text), macros)
	}
	for p, text := range tree {
		lost, n := lostRegisters(string(text), macros)
		if all += n; len(lost) > 0 {
			t.Errorf("%s calls a function while a register variable holds a value: %s; call it before",
				p, strings.Join(lost, ", "))
		}
	}
	testenv.Check(t, all >= 200, "%d register variables found", all)
}

// TestRegisterVariablesFound: the reading of C that TestRegisterVariables rests on.
func TestRegisterVariablesFound(t *testing.T) {
	macros := map[string]bool{}
	callingMacros("#define NNCC_LOOP(x) \\\n    __asm volatile(\"f(%0)\" : \"+r\"(x))\n"+
		"#define NNCC_MAX(x) \\\n    (x > 0 ? \\\n     g(x) : 0)\n", macros)
	for code, want := range map[string]string{
		`register int a __asm("r2") = x; if (near(a)) { NNCC_LOOP(a); }`:                           "a: near",
		`NNCC_REG(int, a, "r2", x); NNCC_REG(int, b, "r3", size(y)); __asm("" :: "r"(a), "r"(b));`: "a: size b: size",
		`register int a __asm("r2") = x; int c = NNCC_MAX(y); NNCC_LOOP(a);`:                       "a: NNCC_MAX",
		`int n = near(x); { register int a __asm("r2") = x; NNCC_LOOP(a); } far(n);`:               "",
		`register int a __asm("r2") = x; NNCC_LOOP(a); y = a; near(y);`:                            "",
		`register int a __asm("r2") = x; /* near(a) */ if (x > 0) { NNCC_LOOP(a); }`:               "",
	} {
		lost, _ := lostRegisters("void f(void) {"+code+"}", macros)
		testenv.Check(t, strings.Join(lost, " ") == want, "%s: %q, want %q", code, lost, want)
	}
}
