package cli

import (
	"fmt"
	"slices"
	"strings"
)

// gofastFlags are the flags of gofast's perf that take a value, and gofastIgnored are those among
// them that have no meaning here.
var (
	gofastFlags   = []string{"addr", "do", "count", "routines", "conns", "batchsize", "payload", "stream", "log", "profile", "buffersize", "flushtick", "tags", "cpu"}
	gofastIgnored = []string{"buffersize", "flushtick", "tags", "cpu"}
)

// Arguments returns a command line with the flags of `paddock bench wire` in the form of this
// program, if they are in that of gofast's perf: "-do post" and "-c" for the client. Notes tell the
// flags that have no meaning here.
func Arguments(args []string) (own []string, notes []string, err error) {
	i := slices.Index(args, "bench")
	if i < 0 || i+1 >= len(args) || args[i+1] != "wire" {
		return args, nil, nil
	}
	own = slices.Clone(args[:i+2])
	for rest := args[i+2:]; len(rest) > 0; rest = rest[1:] {
		name, value, joined := strings.Cut(strings.TrimPrefix(rest[0], "-"), "=")
		switch {
		case rest[0] == "-s":
			return nil, nil, usagef("-s: the server is a command of its own: paddock wire serve --addr HOST:PORT")
		case rest[0] == "-c" && (len(rest) == 1 || strings.HasPrefix(rest[1], "-")): // else it is --conns
		case !strings.HasPrefix(rest[0], "-") || !slices.Contains(gofastFlags, name):
			own = append(own, rest[0])
		case !joined && len(rest) == 1:
			return nil, nil, usagef("-%s: a value is missing", name)
		default:
			if !joined {
				value, rest = rest[1], rest[1:]
			}
			if slices.Contains(gofastIgnored, name) {
				notes = append(notes, fmt.Sprintf("-%s %s has no meaning here", name, value))
				continue
			}
			if name == "log" {
				name = "log-level"
			}
			own = append(own, "--"+name+"="+value)
		}
	}
	return own, notes, nil
}
