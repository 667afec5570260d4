package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"paddock/internal/process/version"
)

// helpWidth is the largest width of help text: longer lines are hard to read on any terminal.
const helpWidth = 100

const description = `Real-time geofencing in one binary: positions in, fence events out, on a live map.`

// groups are the headings of `paddock help`. They appear in the order of the
// commands in cli.
var groups = []kong.Group{
	{Key: "platform", Title: "The platform:"},
	{Key: "service", Title: "One service alone:"},
	{Key: "lab", Title: "Measure:"},
	{Key: "about", Title: "About:"},
}

// examples are shown by `paddock help` if their command exists.
var examples = []struct{ command, line, does string }{
	{"demo", "paddock demo", "a simulated city on the live map"},
	{"up", "paddock up --sets DIR", "serve the GeoJSON fences of DIR"},
	{"context", "paddock context add NAME --url URL", "the platform that further commands ask"},
	{"sets", "paddock sets put zones.geojson", "a file as a set of a running platform"},
	{"events", "paddock events tail --set zones", "its events as they happen"},
	{"positions", "paddock positions send FILE --speed 10x", "a recording, ten times as fast"},
	{"import", "paddock import zones.kml -o DIR", "fences of another tool as a set"},
	{"export", "paddock export --parquet FILE", "the past positions as a table"},
	{"rules", "paddock rules check FILE", "what is wrong with a file of rules"},
	{"fence", "paddock fence DIR -p 8080", "the geofence HTTP service alone"},
	{"bus", "paddock bus", "the message broker alone"},
	{"tunnel", "paddock tunnel start -c FILE", "services that visitors of a server can reach"},
	{"wire", "paddock wire dump --hex FILE", "the frames of a captured connection"},
	{"bench", "paddock bench http URL -c 50 -d 30s", "how fast a service answers, and how it fails"},
	{"bench", "paddock bench wire --do verify", "what the wire carries, checked at both ends"},
	{"bench", "paddock bench profile DIR", "where the time of the fence service goes"},
	{"docs", "paddock docs --open", "the documents, without a network"},
	{"version", "paddock version --json", "which build, for a script"},
	{"completion", "source <(paddock completion bash)", "complete commands and flags with Tab"},
}

const helpEpilogue = `
Environment:
  A global flag can also be given as PADDOCK_<FLAG> and a command's own flag as
  PADDOCK_<COMMAND>_<FLAG>, in capitals with _ for -: PADDOCK_LOG_LEVEL=debug.
  A key of the platform's configuration file is PADDOCK_<SECTION>_<KEY>, such as
  PADDOCK_HTTP_LISTEN. The command line goes over the environment, and that over
  the file.

Exit codes:
  0    success, also after a clean drain on SIGTERM or SIGINT
  1    failure: something did not start, or failed while it ran; a difference that
       "paddock sets diff" has found
  2    usage: a bad command, flag, argument, environment or configuration file
  3    a benchmark ran, and an objective of it was missed; or the server of a
       tunnel has refused us
  4    a benchmark measured nothing, or too little for an objective; or the server
       of a tunnel was away for longer than the file allows
  5    the journal of the platform cannot be written or read: mend its disk first
  130  forced: a second signal came before the drain was over, or the first one
       before a benchmark had all its figures`

type helpCmd struct {
	Command []string `arg:"" optional:"" complete:"command" help:"The command, such as \"completion\"; none for the overview."`
}

// Run prints the same page as COMMAND --help.
func (h *helpCmd) Run(parser *kong.Kong) error {
	ctx, err := kong.Trace(parser, h.Command)
	if err != nil {
		return err
	}
	if node := ctx.Selected(); len(h.Command) > 0 && (node == nil || node.Path() != strings.Join(h.Command, " ")) {
		return usagef("no command is called %q; \"paddock help\" lists them", strings.Join(h.Command, " "))
	}
	return ctx.PrintUsage(false)
}

// printHelp prints kong's page, and in the overview the examples, the environment and the exit
// codes.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil || ctx.Selected() != nil || o.Summary {
		return err
	}
	var b strings.Builder
	b.WriteString("\nExamples:\n")
	for _, e := range examples {
		if findCommand(ctx.Model.Node, e.command) != nil {
			fmt.Fprintf(&b, "  %-36s %s\n", e.line, e.does)
		}
	}
	b.WriteString(helpEpilogue)
	_, err := fmt.Fprintln(ctx.Stdout, b.String())
	return err
}

// environmentNames gives every flag an environment variable: PREFIX_FLAG for a global flag,
// PREFIX_COMMAND_FLAG for a command's, so that --port of one service does not set that of another.
// A flag with an env tag keeps it. The commands about the program itself have no variables.
func environmentNames(prefix string) kong.Option {
	upper := strings.NewReplacer("-", "_", ".", "_")
	var visit func(n *kong.Node, prefix string)
	visit = func(n *kong.Node, prefix string) {
		for _, f := range n.Flags {
			if f.Name == "help" || len(f.Envs) > 0 {
				continue
			}
			f.Envs = []string{prefix + "_" + strings.ToUpper(upper.Replace(f.Name))}
			f.Tag.Envs = f.Envs
		}
		for _, child := range n.Children {
			if child.Group != nil && child.Group.Key == "about" {
				continue
			}
			visit(child, prefix+"_"+strings.ToUpper(upper.Replace(child.Name)))
		}
	}
	return kong.PostBuild(func(k *kong.Kong) error {
		visit(k.Model.Node, prefix)
		return nil
	})
}

// findCommand returns the child of n with this name or alias, or nil.
func findCommand(n *kong.Node, name string) *kong.Node {
	for _, child := range n.Children {
		if child.Type != kong.CommandNode {
			continue
		}
		if child.Name == name {
			return child
		}
		for _, alias := range child.Aliases {
			if alias == name {
				return child
			}
		}
	}
	return nil
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print an object with version, revision, time, dirty, go and platform."`
}

// Run prints the version of the build, on one line or as JSON.
func (v *versionCmd) Run(c *console) error {
	if v.JSON {
		return json.NewEncoder(c.Stdout).Encode(version.Get())
	}
	_, err := fmt.Fprintln(c.Stdout, version.Get())
	return err
}

// calledOnly leaves out every command that args do not name, as kong spends most of a start on
// their flags. The commands about the program itself need the whole model.
func calledOnly(args []string) kong.Option {
	var others []string
	t := reflect.TypeFor[cli]()
	for _, name := range args {
		var called reflect.Type
		var beside []string
		for _, f := range reflect.VisibleFields(t) {
			switch _, command := f.Tag.Lookup("cmd"); {
			case !command:
			case cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)) == name && f.Tag.Get("group") != "about":
				called = f.Type
			default:
				beside = append(beside, t.Name()+`\.`+f.Name)
			}
		}
		if called == nil {
			break
		}
		others = append(others, beside...)
		t = called
	}
	if others == nil {
		return kong.OptionFunc(func(*kong.Kong) error { return nil })
	}
	return kong.IgnoreFields("^(" + strings.Join(others, "|") + ")$")
}
