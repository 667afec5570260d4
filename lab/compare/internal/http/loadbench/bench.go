// Package loadbench holds the goals of bench load: `paddock bench http` beside wrk, ab, hey
// and oha, each a process of its own, before services that cost little or whose response
// times are known.
package loadbench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/gofence"
	"paddock/lab/internal/peers"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/process"
)

// Bench measures contenders. It belongs to one goroutine.
type Bench struct {
	// The programs; those of others are looked for in PATH.
	Paddock, Wrk, Ab, Hey, Oha, Nginx string
	Self                              string // this program, for PublishCommand

	Dir    string        // for temporary files
	Memory time.Duration // of the run whose memory is watched

	bodies string // the corpus as a file
}

// Measure takes one turn.
func (b *Bench) Measure(ctx context.Context, t harness.Turn) (*measure.Measurement, error) {
	switch t.Contender.Operation {
	case opBare:
		return bare(t.Options)
	case opTruth:
		return known(), nil
	}
	return b.load(ctx, t)
}

// load is a generator's process before a service's.
func (b *Bench) load(ctx context.Context, t harness.Turn) (m *measure.Measurement, err error) {
	program := b.program(t.Contender.Peer)
	if _, err := programs.Find(program); err != nil {
		return nil, err
	}
	o, err := b.order(t)
	if err != nil {
		return nil, err
	}
	var service webload.Service
	if err := t.Where.Start(func() (err error) {
		service, err = b.serve(ctx, o)
		return err
	}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, service.Stop()) }()
	o.addr = service.Addr()
	o.url = "http://" + o.addr + o.url
	meter, err := measure.StartMachineMeter(webload.Processes{service.Pid()})
	if err != nil {
		return nil, err
	}
	counted := &measure.Measurement{Figures: map[string]float64{}}
	if t.Contender.Peer == ourPeer {
		err = b.ours(ctx, o, counted)
	} else {
		err = theirs(ctx, program, t.Contender.Peer, o, counted)
	}
	if err != nil {
		return nil, err
	}
	m = &measure.Measurement{}
	if err := meter.Stop(m); err != nil {
		return nil, err
	}
	counted.Server, counted.Machine = m.Server, m.Machine
	return counted, nil
}

func (b *Bench) program(peer string) string {
	return map[string]string{ourPeer: b.Paddock, wrkPeer: b.Wrk, abPeer: b.Ab, heyPeer: b.Hey, ohaPeer: b.Oha, natsPeer: b.Self, bufioPeer: b.Self}[peer]
}

// order returns the order of a turn. Its URL is still a path.
func (b *Bench) order(t harness.Turn) (*order, error) {
	o := &order{op: t.Contender.Operation, url: "/", conns: conns, duration: turnTime(t.Options)}
	switch o.op {
	case opMemory:
		o.duration = b.Memory
	case opHybrid, opSleep, opSpin:
		o.conns, o.rate, o.warmup = paceFrom, pacing, t.Options.Warmup
	case opFrozen, opCorrect:
		o.conns, o.rate, o.duration, o.warmup = frozenConns, frozenRate, frozenTime(o.duration), frozenEvery
	}
	var err error
	if o.script, err = peers.WriteWrkScript(b.Dir); err != nil {
		return nil, err
	}
	if o.op == opPost || o.op == opFormat || o.op == opMemory {
		o.bodies, err = b.corpus()
	}
	return o, err
}

// corpus writes the bodies, once.
func (b *Bench) corpus() (string, error) {
	if b.bodies != "" {
		return b.bodies, nil
	}
	dir := filepath.Join(b.Dir, "town")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := gofence.WriteTown(dir); err != nil {
		return "", err
	}
	c, err := gofence.ReadCorpus(os.DirFS(dir))
	if err != nil {
		return "", err
	}
	b.bodies = filepath.Join(b.Dir, "bodies.jsonl")
	return b.bodies, os.WriteFile(b.bodies, c.Text(), 0o600)
}

// serve starts the service, and replaces the path of the order by that of a file if it has some.
func (b *Bench) serve(ctx context.Context, o *order) (webload.Service, error) {
	switch o.op {
	case opNginx:
		root, name := filepath.Join(b.Dir, "www"), "static.html"
		if err := peers.WriteStatic(root, name, webload.StaticBytes); err != nil {
			return nil, err
		}
		o.url = "/" + name
		return webload.StartNginx(ctx, b.Nginx, root)
	case opPublish:
		return process.StartBus(ctx, b.Paddock)
	case opFrozen, opCorrect:
		return tunneled.Serve(ctx, b.Paddock, strings.Fields(frozenLaw().String())...)
	}
	return tunneled.Serve(ctx, b.Paddock)
}

// theirs runs another's generator.
func theirs(ctx context.Context, program, peer string, o *order, m *measure.Measurement) error {
	g := others[peer]
	args, err := g.args(o)
	if err != nil {
		return err
	}
	printed, err := run(ctx, program, args, nil, m)
	if err != nil {
		return err
	}
	return g.read(printed, m)
}

// ours runs `paddock bench http`.
func (b *Bench) ours(ctx context.Context, o *order, m *measure.Measurement) error {
	var screen *os.File
	if o.op == opReported {
		t, err := openTerminal()
		if err != nil {
			return err
		}
		defer t.close()
		screen, o.out = t.slave, filepath.Join(b.Dir, "out")
		defer os.RemoveAll(o.out)
	}
	printed, err := run(ctx, b.Paddock, paddockArgs(o), screen, m)
	if err != nil {
		return err
	}
	d, err := readPaddock(printed, m)
	if err != nil {
		return err
	}
	switch o.op {
	case opHybrid, opSleep, opSpin:
		paceInto(m, d)
	case opQuiet, opReported: // of the run alone
		m.Client = measure.Usage{User: time.Duration(d.Host.User), System: time.Duration(d.Host.System)}
	}
	return nil
}

// Describe lists the programs of the machine that take part.
func (b *Bench) Describe() (string, error) {
	if missing := programs.Missing(b.Wrk, b.Ab, b.Hey, b.Oha, b.Nginx); missing != "" {
		return "not here, and left out: " + missing, nil
	}
	return "all programs are here", nil
}
