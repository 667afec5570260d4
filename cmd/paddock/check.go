package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/dryrun"
	"paddock/internal/process/certificate"
	"paddock/internal/process/config"
)

// checkCmd verifies a configuration, or what a stopped platform keeps.
type checkCmd struct {
	Config string `short:"c" type:"path" xor:"what" required:"" placeholder:"FILE" help:"Check this configuration file of up, and what it names: certificates, sets, rules, the data directory."`
	Replay bool   `xor:"what" required:"" help:"Apply all kept records again, and compare events and states with the stored ones."`
	Data   string `placeholder:"DIR" help:"With --replay: the data directory (default as for up)."`
	JSON   bool   `name:"json" help:"Print an object: with --replay of records, positions, events, checkpoints, unstored_events, gaps and whole; with --config of the parts, each with its text and warnings."`
}

// Help describes the exit codes.
func (*checkCmd) Help() string {
	return `Nothing is started and nothing is written. The exit code of --config is 0 for a configuration with which up starts, also with warnings, and 2 for one with a fault; all of them are told, each with its place.

    paddock check -c paddock.yaml
    paddock check --replay --data /var/lib/paddock`
}

// Run prints what was found. Nothing is written.
func (k *checkCmd) Run(c *console) error {
	if k.Replay {
		return k.replay(c)
	}
	if k.Data != "" {
		return usagef("--data is for --replay: with --config the file names it")
	}
	up := upCmd{Config: k.Config}
	cfg, other, err := up.load(c, map[string]string{})
	if err != nil {
		return err
	}
	e := &examination{cfg: cfg}
	e.directory()
	e.certificates()
	e.sets()
	e.listed("keys", len(cfg.Access.Keys))
	if other.webhooks != nil {
		e.listed("webhooks", len(other.webhooks.Endpoints))
	}
	if other.sinks != nil {
		e.listed("sinks", len(other.sinks.Sinks))
	}
	e.listed("sources", len(other.sources))
	if other.tunnel != nil {
		e.listed("tunnel clients", len(other.tunnel.Clients))
	}
	if err := errors.Join(e.faults...); err != nil {
		return usageError{err}
	}
	if k.JSON {
		return c.printJSON(map[string]any{"file": k.Config, "parts": e.parts})
	}
	for _, p := range e.parts {
		fmt.Fprintf(c.Stdout, "%s: %s\n", p.Name, p.Text)
		for _, w := range p.Warnings {
			fmt.Fprintf(c.Stderr, "paddock: warning: %s: %s\n", p.Name, w)
		}
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintf(c.Stderr, "paddock: warning: %s\n", w)
	}
	fmt.Fprintf(c.Stdout, "%s: up starts with it\n", k.Config)
	return nil
}

// examination looks at what a configuration names.
type examination struct {
	cfg    *config.Config
	parts  []part
	faults []error
}

// part is what was found about a part of the configuration.
type part struct {
	Name     string   `json:"name"`
	Text     string   `json:"text"`
	Warnings []string `json:"warnings,omitempty"`
}

func (e *examination) found(name string, warnings []string, format string, args ...any) {
	e.parts = append(e.parts, part{name, fmt.Sprintf(format, args...), warnings})
}

func (e *examination) fault(key string, err error) {
	if err != nil {
		e.faults = append(e.faults, e.cfg.Fault(key, err))
	}
}

// listed tells how many elements a section has.
func (e *examination) listed(name string, n int) {
	if n > 0 {
		e.found(name, nil, "%d", n)
	}
}

// directory looks at the data directory, or at the nearest directory above it that is there.
func (e *examination) directory() {
	dir, err := dataDir(e.cfg.Data.Dir)
	switch {
	case err != nil:
		e.fault("data.dir", err)
		return
	case dir == "":
		e.found("data", nil, "nothing is kept")
		return
	}
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", at)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			e.fault("data.dir", err)
			return
		}
		at = filepath.Dir(at)
	}
	e.found("data", nil, "%s", dir)
}

// soon is how long before its end a certificate is warned of.
const soon = 14 * 24 * time.Hour

func (e *examination) certificates() {
	for key, pair := range map[string][2]string{"http.cert": {e.cfg.HTTP.Cert, e.cfg.HTTP.Key}, "wire.cert": {e.cfg.Wire.Cert, e.cfg.Wire.Key}} {
		if pair[0] == "" {
			continue
		}
		f, err := certificate.Open(pair[0], pair[1])
		if err != nil {
			e.fault(key, err)
			continue
		}
		leaf, _ := f.Certificate(nil) // it never fails
		end := leaf.Leaf.NotAfter
		var warnings []string
		switch left := time.Until(end); {
		case left <= 0:
			e.fault(key, fmt.Errorf("%s has ended on %s", pair[0], end.UTC().Format(time.DateOnly)))
			continue
		case left < soon:
			warnings = append(warnings, fmt.Sprintf("it ends in %d days", left/(24*time.Hour)))
		}
		e.found(key, warnings, "%s, until %s", pair[0], end.UTC().Format(time.DateOnly))
	}
}

func (e *examination) sets() {
	dir := e.cfg.Sets.Dir
	if dir == "" {
		return
	}
	catalog, err := dryrun.ReadSets(dir)
	if err != nil {
		e.fault("sets.dir", err)
		return
	}
	fences := 0
	var warnings []string
	for s := range catalog.All() {
		snap := s.Snapshot()
		if fences += snap.Len(); len(snap.Findings()) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %d findings, as %s", s.Name(), len(snap.Findings()), snap.Findings()[0].Reason))
		}
	}
	e.found("sets", warnings, "%d with %d fences in %s", catalog.Len(), fences, dir)
	files, err := rulebook.ReadFiles(dir)
	if err != nil {
		e.fault("sets.dir", err)
		return
	}
	warnings = nil
	for _, r := range files.Rules {
		warnings = append(warnings, rulebook.Warnings(catalog, r)...)
	}
	if len(files.Rules)+len(files.Policies) > 0 {
		e.found("rules", warnings, "%d, and %d policies", len(files.Rules), len(files.Policies))
	}
}

// replay compares what is kept with what its records give.
func (k *checkCmd) replay(c *console) error {
	dir, err := dataDir(k.Data)
	if err != nil {
		return err
	}
	if dir == "" {
		return usageError{errors.New("--data off: there is nothing to check")}
	}
	log, err := c.LoggerOver("warn", "")
	if err != nil {
		return err
	}
	shown := c.progress()
	found, err := platform.Verify(dir, log, func(number, newest uint64) {
		shown.Show("record %d of %d", number, newest)
	})
	shown.End()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if k.JSON {
		return c.printJSON(map[string]any{
			"records": found.Records, "positions": found.Positions, "events": found.Events,
			"checkpoints": found.Checkpoints, "whole": found.Whole, "unstored_events": found.Unstored, "gaps": found.Gaps,
		})
	}
	from := "the first record"
	if !found.Whole {
		from = "the older checkpoints"
	}
	fmt.Fprintf(c.Stdout, "%s: %d records from %s on give the same: %d positions, %d events, %d states compared\n",
		dir, found.Records, from, found.Positions, found.Events, found.Checkpoints)
	if found.Unstored > 0 {
		fmt.Fprintf(c.Stdout, "%d events of the last records are not stored yet, as after a crash: the next start stores them\n", found.Unstored)
	}
	if found.Gaps > 0 {
		fmt.Fprintf(c.Stdout, "events are lost in %d places, which was accepted\n", found.Gaps)
	}
	return nil
}
