// SPDX-License-Identifier: Apache-2.0

package syntax

import "strconv"

// Parser reads a text token by token. Its methods end it with FailAt where the
// text is not what they want; Run turns that into an error.
type Parser struct {
	lexer
	Tok    Token // the present one
	budget int   // elements that splat and rand may still make
}

// NewParser is a parser at the first token of src, once it runs.
func NewParser(src string) *Parser { return &Parser{lexer: lexer{src: src}, budget: splatBudget} }

// Run calls parse, after which the text must end: what it read is called so in
// messages. The error is an *Error.
func (p *Parser) Run(what string, parse func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	p.Advance()
	parse()
	if p.Tok.Kind != End {
		p.Failf("%s after the %s", p.Tok, what)
	}
	return nil
}

// Advance goes to the next token.
func (p *Parser) Advance() { p.Tok = p.next() }

// Failf fails at the present token.
func (p *Parser) Failf(format string, args ...any) { p.FailAt(p.Tok.Pos, format, args...) }

// Is reports whether the present token is a punctuation mark.
func (p *Parser) Is(punct string) bool { return p.Tok.Kind == Punct && p.Tok.Text == punct }

// IsWord reports whether the present token is a word.
func (p *Parser) IsWord(w string) bool { return p.Tok.Kind == Ident && p.Tok.Text == w }

// Accept skips one punctuation mark if it is there.
func (p *Parser) Accept(punct string) bool {
	if p.Is(punct) {
		p.Advance()
		return true
	}
	return false
}

// Want skips a punctuation mark that must be there.
func (p *Parser) Want(punct string) {
	if !p.Accept(punct) {
		p.Failf("found %s, want %q", p.Tok, punct)
	}
}

// Word skips a word that must be there.
func (p *Parser) Word(w string) {
	if !p.IsWord(w) {
		p.Failf("found %s, want %q", p.Tok, w)
	}
	p.Advance()
}

// Take gives the text of the present token, which must be of kind k, and goes on.
func (p *Parser) Take(k Kind, what string) string {
	if p.Tok.Kind != k {
		p.Failf("found %s, want %s", p.Tok, what)
	}
	t := p.Tok.Text
	p.Advance()
	return t
}

// Int reads an integer.
func (p *Parser) Int() int {
	pos := p.Tok.Pos
	v, err := strconv.Atoi(p.Take(Number, "an integer"))
	if err != nil {
		p.FailAt(pos, "malformed integer")
	}
	return v
}
