package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var commandRow = regexp.MustCompile("^\\| `paddock ([a-z]+)[^`]*` \\| .+ \\|$")

// README's table holds the commands that work, in the order of the help page:
// none that does not exist, and none is missing.
func TestREADMEListsTheCommands(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(text)) {
		if m := commandRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			listed = append(listed, m[1])
		}
	}
	var working []string
	for _, c := range model(t).Children {
		if c.Type == kong.CommandNode && !c.Hidden {
			working = append(working, c.Name)
		}
	}
	if !slices.Equal(listed, working) {
		t.Errorf("README's table lists %v, the program has %v: make the table say what works", listed, working)
	}
}
