// Package busd runs the broker as a program. It turns flags and a configuration file
// into a [bus.Config], and adds a log, a pid file, a ports file, signals and
// monitoring over HTTP to the running server.
//
// [Source.Load] returns one value, [Settings]: the flags override the file, and the
// file overrides the defaults. A reload loads it again from the same source.
// [Program] owns everything that runs.
//
// Two command lines use the package: `paddock bus`, and [Main] for tools that start
// the broker as their test server. Main takes the flags of the program that
// [ProgramName] names.
//
// The package is outside bus because cmd/paddock cannot import bus/internal.
package busd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/bus"
	"paddock/internal/busd/bridge"
	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/notify"
)

// echo is the time in which a repeated signal is still the first one: terminals and
// timeout(1) signal a process and then its group.
const echo = 200 * time.Millisecond

// Program is one run of the broker.
type Program struct {
	Source Source
	Name   string    // of the program, in the ports file's name
	Stderr io.Writer // where the log goes if no setting says otherwise

	// Logger takes the place of lines on Stderr; nil = none.
	Logger  *slog.Logger
	Signals <-chan os.Signal // nil = those of the process
	Manager *notify.Manager  // that has started the process; nil = none

	settings *Settings
	log      *logSink
	server   *bus.Server
	bridges  *bridge.Set
	monitor  *Monitor // nil = none
	http     []*httpDoor
	files    []placed // the pid file and the ports file, once they are there
	running  sync.WaitGroup
}

// fatal is an error that ended the start and stands in the log already.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// Run serves until a signal or ctx ends it. Its error is the settings' if nothing
// has been started.
func (p *Program) Run(ctx context.Context) (err error) {
	if p.settings, err = p.Source.Load(); err != nil {
		return err
	}
	if p.log, err = openLog(p.settings.Log, p.Stderr, p.Logger); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.log.Close()) }()
	signals := p.Signals
	if signals == nil {
		c := make(chan os.Signal, 4) // more at once would be lost, which signals may be anyway
		signal.Notify(c, slices.Collect(maps.Keys(actions))...)
		defer signal.Stop(c)
		signals = c
	}
	if err := p.start(); err != nil {
		limit, cancel := context.WithTimeout(ctx, drainTime)
		defer cancel()
		err = errors.Join(err, p.closeAll(limit))
		p.running.Wait()
		return err
	}
	return p.serve(ctx, signals)
}

// start opens every door, and tells that it has.
func (p *Program) start() (err error) {
	cfg := p.settings.Bus
	cfg.Logger = p.log.Logger
	if p.server, err = bus.New(cfg); err != nil {
		return err
	}
	p.bridges = bridge.New(p.server, p.log.Logger)
	p.announce()
	if err := p.openHTTP(); err != nil {
		return p.fatal("Can't start monitoring: %w", err)
	}
	if err := p.server.Start(); err != nil {
		return p.fatal("Error listening on port: %s:%d, %w", cmp.Or(cfg.Host, bus.DefaultHost), cfg.Port, listen.OrElse(unprefixed{err}, "-p"))
	}
	if err := p.writePid(); err != nil {
		return p.fatal("Could not write pidfile: %w", err)
	}
	if err := p.writePorts(); err != nil {
		return p.fatal("Could not write ports file: %w", err)
	}
	if err := p.bridges.Apply(p.settings.Bridges, p.settings.Bus.DenyPublish); err != nil {
		return p.fatal("Can't start bridges: %w", err)
	}
	p.log.Info("Server is ready")
	p.tell(p.Manager.Ready(p.summary()))
	return nil
}

// unprefixed is an error of the broker as part of a sentence about it.
type unprefixed struct{ error }

func (u unprefixed) Error() string {
	return strconv.Quote(strings.TrimPrefix(u.error.Error(), "bus: "))
}
func (u unprefixed) Unwrap() error { return u.error }

// announce says what is being started, and what is odd about it.
func (p *Program) announce() {
	p.log.Info("Starting Paddock, NATS-protocol compatible")
	p.log.Info("  Version:  " + bus.ProtocolVersion)
	if p.settings.Bus.ServerName != "" {
		p.log.Info("  Name:     " + p.settings.Bus.ServerName)
	}
	p.log.Info("  ID:       " + p.server.ID())
	for _, w := range p.settings.Warnings {
		p.log.Warn(w)
	}
	if f := p.settings.ConfigFile; f != "" {
		p.log.Info("Using configuration file: " + f + " (" + p.settings.Digest + ")")
	}
	if p.settings.unguarded() {
		p.log.Warn("No credentials are asked for: whoever can reach this server may publish and subscribe")
	}
}

// fatal logs why the program ends. As a command of paddock, the command logs it.
func (p *Program) fatal(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if p.Logger == nil {
		p.log.Log(context.Background(), levelFatal, err.Error())
		return fatal{err}
	}
	return err
}

// serve answers signals until one of them, or the end of lame duck mode, stops the
// program.
func (p *Program) serve(ctx context.Context, signals <-chan os.Signal) error {
	stopping := context.WithoutCancel(ctx) // what ends serving must not hurry the end
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var duck chan error // not nil in lame duck mode; receives its end
	beat := p.heartbeat()
	defer beat.stop()
	for {
		select {
		case <-beat.ticks:
			beat.check(ctx)
		case <-ctx.Done():
			return p.stop(stopping, signals)
		case err := <-duck:
			return errors.Join(err, p.stop(stopping, signals))
		case sig := <-signals:
			p.log.Info(fmt.Sprintf("Trapped %q signal", sig))
			switch actions[sig] {
			case doStop:
				cancel()
			case doStopGently:
				if duck == nil {
					cancel()
				}
			case doReload:
				p.tell(p.Manager.Reloading("reading the configuration again"))
				beat.during(ctx, p.reload)
				p.tell(p.Manager.Reloaded(p.summary()))
			case doReopen:
				p.log.reopen()
			case doLameDuck:
				if duck == nil {
					duck = make(chan error, 1)
					p.running.Go(func() { duck <- p.lameDuck(ctx) })
				}
			}
		}
	}
}

// lameDuck ends when the last client has gone, or with ctx.
func (p *Program) lameDuck(ctx context.Context) error {
	err := p.server.LameDuck(ctx)
	if errors.Is(err, context.Canceled) {
		return nil // by a signal, which serve acts on
	}
	return err
}

// stop lets everything go in the opposite order. A second signal ends the wait for
// clients.
func (p *Program) stop(ctx context.Context, signals <-chan os.Signal) error {
	begun := time.Now()
	p.log.Info("Initiating Shutdown...")
	p.tell(p.Manager.Stopping("stopping"))
	limit, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	stopped := make(chan error, 1)
	p.running.Go(func() { stopped <- p.closeAll(limit) })
	var forced error
	for {
		select {
		case err := <-stopped:
			p.running.Wait()
			p.log.Info("Server Exiting..")
			return errors.Join(forced, err)
		case sig := <-signals:
			if m := actions[sig]; (m == doStop || m == doStopGently) && time.Since(begun) > echo {
				forced = lifecycle.ErrForced
				cancel()
			}
		}
	}
}

func (p *Program) closeAll(ctx context.Context) error {
	var err error
	p.bridges.Close(ctx)
	if p.server != nil {
		err = p.server.Shutdown(ctx)
	}
	return errors.Join(err, p.closeHTTP(), p.removeFiles())
}

// action is what a signal asks for.
type action int

const (
	doStop       action = iota + 1 // SIGINT
	doStopGently                   // SIGTERM: nothing in lame duck mode, which ends by itself
	doReload                       // SIGHUP
	doReopen                       // SIGUSR1
	doLameDuck                     // SIGUSR2
)
