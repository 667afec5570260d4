package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"paddock/cmd/paddock/client"
	lab "paddock/lab/cli"
)

// Completion has two halves. The shell's half is a small script under
// completions/, which hands the words of the line to `paddock __complete`; that
// answers from the same model that parses the command line, so the two cannot
// drift apart. An empty answer lets the shell offer file names.
//
//go:embed completions
var completionScripts embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help describes how to install the script in each shell.
func (*completionCmd) Help() string {
	return `To try it:

    source <(paddock completion bash)
    source <(paddock completion zsh)
    paddock completion fish | source

To keep it, put that line into ~/.bashrc or ~/.zshrc, or write the script to ~/.config/fish/completions/paddock.fish.`
}

// Run prints the script.
func (p *completionCmd) Run(c *console) error {
	script, err := completionScripts.ReadFile("completions/paddock." + p.Shell)
	if err != nil {
		return err
	}
	_, err = c.Stdout.Write(script)
	return err
}

type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The words after \"paddock\", the last being the one to complete."`
}

// Run prints one candidate on each line, with a tab and its help text.
func (p *completeCmd) Run(parser *kong.Kong, c *console) error {
	for _, cand := range complete(parser.Model.Node, p.Words) {
		if _, err := fmt.Fprintf(c.Stdout, "%s\t%s\n", cand.word, cand.help); err != nil {
			return err
		}
	}
	return nil
}

type candidate struct{ word, help string }

// complete returns the candidates for the last word. An unknown flag or too many arguments are no
// error: they only end the suggestions.
func complete(root *kong.Node, words []string) []candidate {
	// bash breaks --flag=value into three words; the flag and its value remain.
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "=" })
	if len(words) > 0 && words[0] == "--" { // from the scripts: keeps kong from reading the words
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	node, pending, position := walk(root, words[:len(words)-1])
	var all []candidate
	switch {
	case pending != nil:
		all = values(root, pending.Value)
	case strings.HasPrefix(last, "-"):
		all = flags(node)
	default:
		all = append(commands(node), arguments(root, node, position)...)
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, last) })
}

// walk follows the words down the command tree. It returns the command that
// they select, the flag that still waits for its value, if any, and how many
// positional arguments have been given.
func walk(root *kong.Node, words []string) (node *kong.Node, pending *kong.Flag, position int) {
	node = root
	for _, w := range words {
		switch {
		case pending != nil:
			pending = nil
		case strings.HasPrefix(w, "-"):
			if f := findFlag(node, w); f != nil && !f.IsBool() {
				pending = f
			}
		default:
			if child := findCommand(node, w); child != nil && position == 0 {
				node = child
			} else {
				position++
			}
		}
	}
	return node, pending, position
}

// findFlag returns the flag with this long or short name, or nil.
func findFlag(n *kong.Node, word string) *kong.Flag {
	for _, level := range n.AllFlags(true) {
		for _, f := range level {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// habitual is a command that parses its own flags, in the form of the program that it imitates.
type habitual interface{ Flags() lab.Flags }

func flags(n *kong.Node) (out []candidate) {
	if n.Target.CanAddr() {
		if h, ok := n.Target.Addr().Interface().(habitual); ok {
			for _, f := range h.Flags() {
				out = append(out, candidate{f.Name(), f.Help})
			}
			return out
		}
	}
	for _, level := range n.AllFlags(true) {
		for _, f := range level {
			out = append(out, candidate{"--" + f.Name, f.Help})
		}
	}
	return out
}

func commands(n *kong.Node) (out []candidate) {
	for _, child := range n.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			out = append(out, candidate{child.Name, child.Help})
		}
	}
	return out
}

// arguments returns the values of the next positional argument; the last one of a command may take
// several.
func arguments(root, n *kong.Node, position int) []candidate {
	if len(n.Positional) == 0 {
		return nil
	}
	arg := n.Positional[min(position, len(n.Positional)-1)]
	if position >= len(n.Positional) && !arg.IsSlice() {
		return nil
	}
	return values(root, arg)
}

// values returns the values of an enum, or those of the tag complete: a list, such as
// `complete:"text,json"`, `complete:"command"` for the commands, or `complete:"context"` for the
// names of contexts.
func values(root *kong.Node, v *kong.Value) (out []candidate) {
	list := v.Enum
	switch tag := v.Tag.Get("complete"); tag {
	case "":
	case "command":
		return commands(root)
	case "context":
		list = strings.Join(client.ContextNames(), ",")
	default:
		list = tag
	}
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, candidate{word: word})
		}
	}
	return out
}
