package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/doc"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"paddock/internal/process/config"
	"paddock/internal/process/lifecycle"
)

func model(t *testing.T) *kong.Node {
	t.Helper()
	parser, _, err := newParser(&console{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Node
}

// Every command has a help text, belongs to a heading of the help page, and
// can be given by its environment variables without meeting another's.
func TestEveryCommandIsPresentable(t *testing.T) {
	root := model(t)
	for _, cmd := range root.Children {
		if !strings.HasSuffix(cmd.Help, ".") {
			t.Errorf("%s: the help text is a sentence, not %q", cmd.Name, cmd.Help)
		}
		if cmd.Group == nil || !slices.ContainsFunc(groups, func(g kong.Group) bool { return g.Key == cmd.Group.Key }) {
			t.Errorf("%s: no group, or one that help.go does not list", cmd.Name)
		}
	}
	seen := map[string]string{}
	_ = kong.Visit(root, func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			shownAsWritten(t, n.Path(), n.Detail)
		}
		if f, ok := v.(*kong.Flag); ok {
			for _, env := range f.Envs {
				if other, taken := seen[env]; taken {
					t.Errorf("$%s sets --%s and --%s", env, other, f.Name)
				}
				seen[env] = f.Name
				if !strings.HasPrefix(env, "PADDOCK_") {
					t.Errorf("$%s lacks the prefix PADDOCK_", env)
				}
			}
			if f.Help == "" {
				t.Errorf("--%s has no help text", f.Name)
			}
			shownAsWritten(t, "--"+f.Name, f.Help)
		}
		return next(nil)
	})
}

// shownAsWritten checks that a help page has a text as it is written: the pages are laid out as
// comments of Go, in which brackets and pairs of quotes have a meaning.
func shownAsWritten(t *testing.T, of, text string) {
	t.Helper()
	var page bytes.Buffer
	//lint:ignore SA1019 kong lays the pages out with it
	doc.ToText(&page, text, "", "    ", helpWidth)
	if shown := page.String(); strings.Join(strings.Fields(shown), "") != strings.Join(strings.Fields(text), "") {
		t.Errorf("%s: %s\nis shown as\n%s", of, text, shown)
	}
}

// The model of a command line has the command that it names, as the whole model has it, and none
// beside it.
func TestModelOfOneCommand(t *testing.T) {
	var visit func(whole *kong.Node, path []string)
	visit = func(whole *kong.Node, path []string) {
		parser, _, err := newParser(&console{}, path)
		if err != nil {
			t.Fatal(err)
		}
		n := parser.Model.Node
		for _, name := range path {
			if len(n.Children) != 1 || n.Children[0].Name != name {
				t.Fatalf("%s: %d commands", path, len(n.Children))
			}
			n = n.Children[0]
		}
		if got, want := flagsOf(n), flagsOf(whole); !slices.Equal(got, want) || len(n.Children) != len(whole.Children) {
			t.Errorf("%s: %s and %d commands, want %s and %d", path, got, len(n.Children), want, len(whole.Children))
		}
		for _, child := range whole.Children {
			if child.Group == nil || child.Group.Key != "about" {
				visit(child, append(slices.Clip(path), child.Name))
			}
		}
	}
	visit(model(t), nil)
}

func flagsOf(n *kong.Node) (names []string) {
	for _, f := range n.Flags {
		names = append(names, f.Name)
	}
	return names
}

func TestReport(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("disk full"), 1, "paddock: error: disk full\n"},
		{usagef("no kind %q", "x"), 2, "paddock: error: no kind \"x\"\n"},
		{config.Default().Fault("sets.kind", errors.New("none")), 2, "paddock: error: sets.kind: none\n"},
		{config.Default().Failure("bus.listen", errors.New("in use")), 1, "paddock: error: bus.listen: in use\n"},
		{lifecycle.ErrForced, 130, "paddock: error: forced to stop by a second signal\n"},
		{fmt.Errorf("up: %w", usagef("bad key")), 2, "paddock: error: up: bad key\n"},
	} {
		var b bytes.Buffer
		if code := reportError(&b, tc.err); code != tc.code || b.String() != tc.text {
			t.Errorf("reportError(%v) = %d, %q; want %d, %q", tc.err, code, b.String(), tc.code, tc.text)
		}
	}
}

// A grammar of its own, so that the test does not change with the commands.
type sampleCLI struct {
	Verbose bool            `short:"v"`
	Serve   sampleServeCmd  `cmd:"" help:"Serve."`
	Help    helpCmd         `cmd:"" help:"Help."`
	Secret  struct{}        `cmd:"" hidden:"" help:"Hidden."`
	Tunnel  sampleTunnelCmd `cmd:"" help:"Tunnel."`
}

type sampleServeCmd struct {
	Dir    string `arg:"" help:"Directory."`
	Mode   string `arg:"" optional:"" enum:"fast,slow" default:"fast" help:"Mode."`
	Format string `short:"f" complete:"text,json" help:"Format."`
}

type sampleTunnelCmd struct {
	Open  struct{} `cmd:"" help:"Open."`
	Close struct{} `cmd:"" help:"Close."`
}

func TestComplete(t *testing.T) {
	root := kong.Must(new(sampleCLI)).Model.Node
	for _, tc := range []struct{ line, want string }{
		{"", "serve help tunnel"},
		{"-- s", "serve"},
		{"x", ""},
		{"serve ", ""}, // a directory: the shell's own business
		{"serve d ", "fast slow"},
		{"serve d s", "slow"},
		{"serve d fast ", ""},
		{"serve -f ", "text json"},
		{"serve --format j", "json"},
		{"serve --format = j", "json"},
		{"serve --format json d ", "fast slow"},
		{"serve -v d ", "fast slow"},
		{"serve --f", "--format"},
		{"serve --unknown d ", "fast slow"},
		{"-", "--help --verbose"},
		{"tunnel ", "open close"},
		{"help ", "serve help tunnel"},
		{"help tunnel s", "serve"},
	} {
		var got []string
		for _, c := range complete(root, strings.Split(tc.line, " ")) {
			got = append(got, c.word)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q: got %q, want %q", tc.line, got, tc.want)
		}
	}
	if got := complete(root, nil); len(got) != 3 {
		t.Errorf("no words: got %v", got)
	}
}

// BenchmarkModel measures the construction of the command line's model, part of every start.
func BenchmarkModel(b *testing.B) {
	for b.Loop() {
		if _, _, err := newParser(&console{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
