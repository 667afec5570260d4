package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

const (
	commandsPage  = "../../docs/reference/commands.md"
	commandsBegin = "<!-- from the help texts: begin -->\n"
	commandsEnd   = "<!-- from the help texts: end -->\n"
)

var updatePages = flag.Bool("update", false, "rewrite the pages that are made of help texts")

// TestCommandsPage holds that the page of commands has each command and flag with the help text
// that the program prints. With -update it rewrites the page.
func TestCommandsPage(t *testing.T) {
	text, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), commandsBegin)
	_, tail, also := strings.Cut(rest, commandsEnd)
	if !ok || !also {
		t.Fatalf("%s lacks its marks", commandsPage)
	}
	var page strings.Builder
	root := model(t)
	page.WriteString("\n### All commands\n\n")
	flagTable(&page, root.Flags)
	for _, command := range root.Children {
		commandSection(&page, command)
	}
	want := head + commandsBegin + page.String() + commandsEnd + tail
	if want == string(text) {
		return
	}
	if !*updatePages {
		t.Fatalf("%s is behind the help texts: go test ./cmd/paddock -run TestCommandsPage -update", commandsPage)
	}
	if err := os.WriteFile(commandsPage, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// commandSection writes the section of a command and those of its subcommands.
func commandSection(page *strings.Builder, n *kong.Node) {
	if n.Hidden || n.Type != kong.CommandNode {
		return
	}
	fmt.Fprintf(page, "### `paddock %s`\n\n%s\n\n", n.Path(), n.Help)
	for _, arg := range n.Positional {
		fmt.Fprintf(page, "- `%s`: %s\n", arg.Summary(), arg.Help)
	}
	if len(n.Positional) > 0 {
		page.WriteString("\n")
	}
	flagTable(page, n.Flags)
	for _, child := range n.Children {
		commandSection(page, child)
	}
}

func flagTable(page *strings.Builder, flags []*kong.Flag) {
	rows := 0
	for _, f := range flags {
		if f.Hidden || f.Name == "help" {
			continue
		}
		if rows++; rows == 1 {
			page.WriteString("| flag | default | |\n|---|---|---|\n")
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if f.PlaceHolder != "" {
			name += " " + f.PlaceHolder
		}
		value := ""
		if f.HasDefault {
			value = "`" + f.Default + "`"
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", "`"+cell(name)+"`", cell(value), cell(f.Help))
	}
	if rows > 0 {
		page.WriteString("\n")
	}
}

// cell makes a text fit for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(text)
}
