// Command paddock is real-time geofencing in one binary: the platform, each of its services alone,
// and the tools around them.
//
// The command line is one struct, cli, with one field for each command. A file is named after its
// command: fence.go holds fenceCmd, whose fields are its flags and whose Run method does the work.
//
// A Run method has any of these parameters, in any order:
//
//	context.Context  never cancelled by a signal: lifecycle.Group handles those
//	*console         standard streams, environment and the logger
//
// The commands that are clients of a running platform are in package client, and those of the lab
// in lab/cli. Each of the two has a Console of its own.
//
// The error that Run returns becomes the exit code, see exit.go.
//
// Started under the name that tools use for their test broker, the program is that broker with its
// flags, see package busd.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"paddock/cmd/paddock/client"
	"paddock/internal/busd"
	lab "paddock/lab/cli"
	"paddock/lab/process"
)

// cli is the whole command line. A command is one field; the order is that of `paddock help`.
//
// The group is one of platform, service, lab or about, see help.go.
type cli struct {
	globals

	Demo      demoCmd          `cmd:"" group:"platform" help:"Run the platform with a simulated city and a live map."`
	Up        upCmd            `cmd:"" group:"platform" help:"Run the platform: bus, fences, events, HTTP and dashboard."`
	Check     checkCmd         `cmd:"" group:"platform" help:"Check a configuration file, or what a stopped platform has kept."`
	Backup    client.Backup    `cmd:"" group:"platform" help:"Write a backup of a running platform."`
	Restore   restoreCmd       `cmd:"" group:"platform" help:"Make a data directory of a backup."`
	Export    exportCmd        `cmd:"" group:"platform" help:"Write positions, visits or events of the past as Parquet, CSV or NDJSON."`
	Import    importCmd        `cmd:"" group:"platform" help:"Make sets of fences of files of other tools."`
	Sets      client.Sets      `cmd:"" group:"platform" help:"List, replace, compare and remove the sets of fences of a running platform."`
	Rules     rulesCmd         `cmd:"" group:"platform" help:"Operate the rules of a running platform; check files of rules, and try them on recorded positions."`
	Positions client.Positions `cmd:"" group:"platform" help:"Send recorded positions to a running platform."`
	Events    client.Events    `cmd:"" group:"platform" help:"Print the events of a running platform, as they happen or of the past."`
	Objects   client.Objects   `cmd:"" group:"platform" help:"List, show and remove the objects of a running platform."`
	Track     client.Track     `cmd:"" group:"platform" help:"Write the past positions of an object as GPX, GeoJSON, CSV or NDJSON."`
	Visits    client.Visits    `cmd:"" group:"platform" help:"List the visits of objects to fences."`
	Keys      client.Keys      `cmd:"" group:"platform" help:"Manage the keys of a running platform, and list the changes that each has made."`
	Webhooks  client.Webhooks  `cmd:"" group:"platform" help:"Operate the webhooks of a running platform, and receive requests of one."`
	Context   client.Context   `cmd:"" group:"platform" help:"Keep the addresses of platforms, and the keys for them, for the commands that ask one."`
	Doctor    client.Doctor    `cmd:"" group:"platform" help:"Tell what is wrong with a running platform, and the way out."`
	BugReport client.BugReport `cmd:"" name:"bugreport" group:"platform" help:"Write an archive about a running platform, without secrets, for a bug report."`
	Ready     client.Ready     `cmd:"" group:"platform" help:"Ask a running platform whether it is ready, and answer by the exit code."`
	Agent     agentCmd         `cmd:"" group:"platform" help:"Be the platform's edge: keep positions on disk, and deliver them over one connection."`
	Cluster   clusterCmd       `cmd:"" group:"platform" help:"Run several platforms as one, over NATS servers."`
	Migrate   migrateCmd       `cmd:"" group:"platform" help:"Take the state of a stopped platform into a cluster, or out of one."`

	Fence      fenceCmd      `cmd:"" group:"service" help:"Serve the fences of a directory over the HTTP interface of gofence."`
	Bus        busCmd        `cmd:"" group:"service" help:"Run the message broker: any NATS client connects to it."`
	Tunnel     tunnelCmd     `cmd:"" group:"service" help:"Reach services on machines that cannot be reached: the server, and their side."`
	Wire       wireCmd       `cmd:"" group:"service" help:"Speak the wire protocol: a server to measure, the frames of a connection."`
	Web        webCmd        `cmd:"" group:"service" help:"Serve the files of a directory over HTTP."`
	Bench      lab.Bench     `cmd:"" group:"lab" help:"Measure, and verify what was carried."`
	Docs       docsCmd       `cmd:"" group:"about" help:"Serve the documents, which are in the binary, as pages with a search."`
	Help       helpCmd       `cmd:"" group:"about" help:"Show this help, or the help of a command."`
	Version    versionCmd    `cmd:"" group:"about" help:"Show which build this is."`
	Completion completionCmd `cmd:"" group:"about" help:"Print a completion script for a shell."`
	Complete   completeCmd   `cmd:"" name:"__complete" group:"about" hidden:"" passthrough:"" help:"Answer a completion script."`
}

// globals are the flags that every command has.
type globals struct {
	LogLevel  string `placeholder:"LEVEL" complete:"debug,info,warn,error" help:"Log from this level on: debug, info, warn or error (default info)."`
	LogFormat string `placeholder:"FORMAT" complete:"auto,text,json" help:"Log as text or json (default auto: text on a terminal, json otherwise)."`
}

func main() {
	process.Follow(exitForced)
	os.Args = busd.HideSecrets(os.Args)
	if busd.Called(os.Args[0]) {
		os.Exit(busd.Main(context.Background(), os.Args[0], os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(run(os.Args[1:], &console{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Environ: os.Environ(),
	}))
}

// run executes one command line and returns the exit code.
func run(args []string, c *console) int {
	parser, root, err := newParser(c, args)
	if err != nil {
		fmt.Fprintln(c.Stderr, "paddock: broken command line definition:", err)
		return exitFailure
	}
	if len(args) == 0 {
		return noCommand(parser, c.Stderr)
	}
	arguments, notes, err := lab.Arguments(args)
	if err != nil {
		return reportError(c.Stderr, err)
	}
	parsed, err := parser.Parse(arguments)
	if err != nil {
		return reportError(c.Stderr, withHint(err))
	}
	for _, note := range notes {
		fmt.Fprintln(c.Stderr, note)
	}
	c.args, c.flags = args, root.globals
	if _, err := c.Logger(); err != nil {
		return reportError(c.Stderr, err)
	}
	parsed.BindTo(context.Background(), (*context.Context)(nil))
	parsed.Bind(&client.Console{
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Environ: c.Environ,
		Logger: func(level string) (*slog.Logger, error) { return c.LoggerOver(level, "") },
	})
	parsed.Bind(&lab.Console{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Environ: c.Environ, Args: c.args, LogLevel: root.LogLevel})
	return reportError(c.Stderr, parsed.Run(c))
}

// newParser builds the model of the commands that args name, or else of all. Its output and its
// exit are the console's.
func newParser(c *console, args []string) (*kong.Kong, *cli, error) {
	root := new(cli)
	parser, err := kong.New(
		root,
		kong.Name("paddock"),
		kong.Description(description),
		kong.Writers(c.Stdout, c.Stderr),
		kong.ExplicitGroups(groups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: helpWidth}),
		kong.Help(printHelp),
		calledOnly(args),
		environmentNames("PADDOCK"),
	)
	return parser, root, err
}

// noCommand prints the help to w, where errors go: the command line names no command.
func noCommand(parser *kong.Kong, w io.Writer) int {
	parser.Stdout = w
	ctx, err := kong.Trace(parser, nil)
	if err == nil {
		err = ctx.PrintUsage(false)
	}
	if err != nil {
		return reportError(w, err)
	}
	return exitUsage
}
