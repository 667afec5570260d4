package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"paddock/lab/internal/documents"
	"paddock/lab/internal/origins"
	"paddock/lab/internal/peers"
	"paddock/lab/process"
)

// originsCmd makes the tables of the original documents again. docs/guides/bench-origins.md is its
// guide.
type originsCmd struct {
	Only    []string          `placeholder:"TABLE|ROW" complete:"wire,ab,nats,profile,fence,tunnel" help:"Tables or rows, separated by commas: wire, ab, nats, profile, fence, tunnel, or W1, TP6 and the like (default all 73 rows)."`
	Scale   float64           `placeholder:"FACTOR" default:"1" help:"Multiply durations and counts by this, above 0 and at most 1; below 1 a row of the constant pressure takes a minute at most (default ${default})."`
	Rounds  int               `placeholder:"N" default:"3" help:"Rounds of a row whose peer is there; in each, ours and the peer take turns (default ${default})."`
	Peers   []string          `placeholder:"auto|none|LIST" default:"auto" help:"Programs of the documents to measure as well: auto (all that are found in PATH), none, or some, separated by commas (default ${default})."`
	Peer    map[string]string `placeholder:"NAME=PATH" mapsep:"none" help:"Program of a document that is not in PATH; once for each."`
	Data    string            `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files for the rows of gofence (default the simulated city)."`
	Parents string            `type:"path" placeholder:"FILE" help:"GeoJSON file of areas by which city and city_bbox group fences (default the simulated city's boroughs; none for --data)."`
	Out     string            `type:"path" placeholder:"DIR" help:"Write origins.json, origins.md and origins.html to this directory, row by row, and the objects of all runs."`
	Resume  bool              `help:"Keep the rows that --out has of this version, scale and machine."`
	JSON    bool              `name:"json" help:"Print the report as an object."`
}

// Help describes the report and the exit codes.
func (*originsCmd) Help() string {
	return `The five documents are benchmarks: gofast's perf, ab and goab against nginx and a server in Go, the NATS server of 2012, gofence, and go-http-tunnel beside koding/tunnel. For each of their 73 rows the same run is made with the commands of "paddock bench", and with the program of the document where it is there. The report has the document's figure, the peer's and ours, the quotients, the verdict on the load generator, and what the document's figure meant. A row whose generator was the bottleneck says so, and is no failure.

All of it takes about 100 minutes without peers; --scale 0.1 takes ten.

Exit codes: 0 rows were measured, 1 a row failed, 2 usage, 4 nothing was measured, 130 interrupted: the report has the rows until then.

    paddock bench origins --scale 0.1 --out DIR
    paddock bench origins --only wire,A1,TS4 --peer gofast=./perf`
}

// maxRounds bounds --rounds.
const maxRounds = 100

// Run measures the rows and prints the report.
func (b *originsCmd) Run(ctx context.Context, c *Console) (err error) {
	runner, err := b.runner(c)
	if err != nil {
		return usageError(err)
	}
	remove := func() error { return nil }
	runner.Subject = sync.OnceValues(func() (s *origins.Subject, err error) {
		s, remove, err = b.subject()
		return s, err
	})
	defer func() { err = errors.Join(err, remove()) }()
	ctx, release := interruptible(ctx)
	defer release()
	defer context.AfterFunc(ctx, release)() // a second signal ends the process
	report, err := runner.Run(ctx)
	write := report.WriteText
	if b.JSON {
		write = report.WriteJSON
	}
	err = errors.Join(err, write(c.Stdout))
	switch failed, measured := report.Failed(); {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return interruptedError(errors.New("interrupted: the report has the rows until then"))
	case len(failed) > 0:
		return fmt.Errorf("rows that failed: %s", strings.Join(failed, ", "))
	case !measured:
		return unmeasuredError(errors.New("no row was measured"))
	}
	return nil
}

// runner checks the flags.
func (b *originsCmd) runner(c *Console) (r *origins.Runner, err error) {
	r = &origins.Runner{
		Scale: b.Scale, Rounds: b.Rounds, Out: b.Out, Resume: b.Resume, Tell: func(line string) { fmt.Fprintln(c.Stderr, line) },
		Peers: &origins.Peers{Only: b.Peers, Paths: b.Peer},
	}
	named := map[string]string{}
	for _, name := range b.Peers {
		named[name] = ""
	}
	if len(b.Peers) == 1 && (b.Peers[0] == "auto" || b.Peers[0] == "none") {
		r.Peers.None, r.Peers.Only, named = b.Peers[0] == "none", nil, nil
	}
	if r.Rows, err = documents.Select(b.Only); err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	for flag, list := range map[string]map[string]string{"--peers": named, "--peer": b.Peer} {
		if err := peers.Check(list); err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
	}
	switch {
	case !(b.Scale > 0 && b.Scale <= 1):
		return nil, fmt.Errorf("--scale %v: above 0, and 1 at most", b.Scale)
	case b.Rounds < 1 || b.Rounds > maxRounds:
		return nil, fmt.Errorf("--rounds %d: 1 to %d", b.Rounds, maxRounds)
	case b.Resume && b.Out == "":
		return nil, errors.New("--resume goes with --out, whose rows it keeps")
	}
	if r.Program, err = os.Executable(); err == nil && b.Out != "" {
		err = os.MkdirAll(b.Out, 0o777)
	}
	return r, err
}

// subject makes the input of the rows of gofence. remove removes its temporary files, also when
// there is an error.
func (b *originsCmd) subject() (s *origins.Subject, remove func() error, err error) {
	dir, removeBodies, err := process.TempDir("paddock-bodies-")
	if err != nil {
		return nil, func() error { return nil }, err
	}
	f, err := newFenceSubject(b.Data, "")
	if err != nil {
		return nil, removeBodies, err
	}
	remove = func() error { return errors.Join(f.remove(), removeBodies()) }
	s = &origins.Subject{Dir: f.dir, Parents: f.parentsOr(b.Parents), Set: f.set, Bodies: filepath.Join(dir, "bodies.jsonl")}
	s.Start = func(ctx context.Context, kind string) (*process.Server, string, error) {
		variants, err := variantsOf("kind", []string{kind})
		if err != nil {
			return nil, "", err
		}
		return f.start(ctx, variants[0], b.Parents)
	}
	return s, remove, os.WriteFile(s.Bodies, bytes.Join(f.corpus.Bodies, []byte("\n")), 0o600)
}
