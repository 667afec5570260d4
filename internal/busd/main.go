package busd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"paddock/bus"
)

const (
	// ProgramName is the name by which tools start their test servers.
	ProgramName = "nats-server"
	// ProgramTag is the name in the system's log.
	ProgramTag = "paddock-bus"
)

// Exit codes of Main.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// Called says whether a program was started as ProgramName.
func Called(argv0 string) bool { return base(argv0) == ProgramName }

func base(argv0 string) string { return strings.TrimSuffix(filepath.Base(argv0), ".exe") }

// Main is the program by the other name. args are what stands behind the name; it
// returns the exit code.
func Main(ctx context.Context, argv0 string, args []string, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, stderr)
	if err != nil {
		return exitUsage
	}
	switch {
	case c.version:
		return say(stdout, versionLine)
	case c.help:
		return say(stdout, usage)
	case c.helpTLS:
		return say(stdout, tlsUsage)
	case len(c.words) > 0 && strings.EqualFold(c.words[0], "version"):
		return say(stdout, versionLine)
	case len(c.words) > 0 && strings.EqualFold(c.words[0], "help"):
		return say(stdout, usage)
	case len(c.words) > 0:
		return report(stderr, fmt.Errorf("unrecognized command: %q", c.words[0]))
	case c.signal != "":
		return report(stderr, Send(c.signal, ProgramName, func(args []string) bool { return Called(args[0]) }))
	}
	src := Source{Defaults: open, File: c.file, Overrides: c.overrides}
	if c.check {
		return check(src, stderr)
	}
	p := &Program{Source: src, Name: base(argv0), Stderr: stderr}
	return report(stderr, p.Run(ctx))
}

// open are the defaults that the tools rely on: any address, without credentials, and files
// that ask for what is not here.
func open(s *Settings) {
	s.Bus.Host, s.Bus.AllowOpen, s.Ignore = "0.0.0.0", true, promisedKeys
}

const versionLine = ProgramName + ": v" + bus.ProtocolVersion + "\n"

func say(w io.Writer, text string) int {
	io.WriteString(w, text)
	return exitOK
}

// check is -t.
func check(src Source, stderr io.Writer) int {
	if src.File == "" {
		return report(stderr, errors.New("must specify [-c, --config] option to check configuration file syntax"))
	}
	s, err := src.Load()
	if err != nil {
		return report(stderr, err)
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(stderr, "%s: warning: %s\n", ProgramName, w)
	}
	fmt.Fprintf(stderr, "%s: configuration file %s is valid (%s)\n", ProgramName, src.File, s.Digest)
	return exitOK
}

// report writes an error that is not in the log, and returns the exit code, which an
// error may bring.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if !errors.As(err, new(fatal)) {
		fmt.Fprintf(w, "%s: %s\n", ProgramName, strings.TrimPrefix(err.Error(), "bus: "))
	}
	var coder interface{ ExitCode() int }
	if errors.As(err, &coder) {
		return coder.ExitCode()
	}
	return exitFailure
}

// secretFlags are those whose value other users of the machine should not see.
var secretFlags = []string{"pass", "auth", "routes", "cluster", "cluster_listen"}

// HideSecrets overwrites passwords and tokens among the process's own arguments,
// which other users of the machine can see, where the system lets it. It returns
// the arguments as they were given.
func HideSecrets(args []string) []string {
	kept := make([]string, len(args))
	for i, a := range args {
		kept[i] = strings.Clone(a)
	}
	for i := 1; i < len(kept); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(kept[i], "-"), "=")
		switch {
		case !strings.HasPrefix(kept[i], "-") || !slices.Contains(secretFlags, name):
		case joined:
			overwrite(args[i][len(args[i])-len(value):])
		case i+1 < len(args):
			i++
			overwrite(args[i])
		}
	}
	return kept
}
