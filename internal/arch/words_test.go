package arch_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"paddock/internal/sampling"
)

// people are the words that make a person of a machine. The subject of a sentence is a noun: the
// server, the client, the caller.
var people = regexp.MustCompile(`(?i)\b(who|whoever|whom|nobody|somebody|he|him|his|what comes|those that)\b`)

const (
	maxComment    = 100 // columns, with the indent; a tab counts 4
	maxExceptions = 20
)

// mayStand lists comment lines that break the rules, and the reason of each.
var mayStand = map[string]string{
	`fence/example_test.go: {"type":"Feature","id":"depot","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[1,2],[0,0]]]}}`: "the output of an example is one line",
}

// TestWords holds how comments are written: about machines, in lines that fit the screen.
func TestWords(t *testing.T) {
	sampling.Sequential(t)
	if len(mayStand) > maxExceptions {
		t.Errorf("%d exceptions, of at most %d", len(mayStand), maxExceptions)
	}
	c := load(t)
	met := map[string]bool{}
	for _, f := range c.files {
		for _, group := range f.Comments {
			for _, comment := range group.List {
				c.words(f, comment, met)
			}
		}
	}
	for line := range mayStand {
		if !met[line] {
			t.Errorf("the exception %q is not needed", line)
		}
	}
}

func (c *code) words(f *source, comment *ast.Comment, met map[string]bool) {
	at := c.fset.Position(comment.Pos())
	for n, line := range strings.Split(comment.Text, "\n") {
		key := f.path + ": " + strings.TrimSpace(strings.TrimPrefix(line, "//"))
		if mayStand[key] != "" {
			met[key] = true
			continue
		}
		if word := people.FindString(line); word != "" {
			c.fault(f, comment.Pos(), "%q in a comment: its subject is the server, the client or the caller: %q", word, key)
		}
		line = strings.ReplaceAll(line, module+"/", "paddock/") // another host's path is no fault of the line
		columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
		if n == 0 && at.Column <= 8 { // indented; with more before it, the comment stands beside code
			columns += 4 * (at.Column - 1)
		}
		if columns > maxComment && !strings.HasPrefix(line, "//go:") {
			c.fault(f, comment.Pos(), "a comment of %d columns, of at most %d", columns, maxComment)
		}
	}
}
