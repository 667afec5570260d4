package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/doctor"
	"paddock/internal/platform/httpapi/runs"
	"paddock/internal/platform/httpapi/tiles/basemap"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/dryrun"
	"paddock/internal/process/certificate"
	"paddock/internal/process/config"
	"paddock/internal/process/version"
)

// examination looks at what a configuration names. Its fields are the output of --json.
type examination struct {
	File        string   `json:"file"`
	Parts       []part   `json:"parts"`
	Faults      []string `json:"faults,omitempty"`      // of the configuration
	Unavailable []string `json:"unavailable,omitempty"` // what up cannot have now

	cfg    *config.Config
	other  fileSections
	dir    string // of the data; "": nothing is kept
	holder int    // number of the process that runs with it; 0: none
	invalid,
	missing []error
}

// part is what was found about a part of the configuration.
type part struct {
	Name     string   `json:"name"`
	Text     string   `json:"text,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// examineFile examines a configuration file as a start would meet it.
func examineFile(ctx context.Context, c *console, file string, monitors []string) *examination {
	e := &examination{File: file, Parts: []part{}}
	up := upCmd{Config: file}
	cfg, other, err := up.load(c, map[string]string{})
	if err != nil {
		e.fault(err)
		return e
	}
	e.cfg, e.other = cfg, other
	e.found("file", cfg.Warnings, "")
	e.directory()
	e.certificates()
	e.sections()
	e.sets()
	e.faultOf("dashboard.basemap", basemap.Check(cfg.Dashboard.Basemap))
	e.faultOf("dashboard.runs", runs.Check(cfg.Dashboard.Runs))
	e.counts()
	e.ports(ctx)
	e.hosts(ctx)
	e.cluster(ctx, monitors)
	e.files()
	e.clock(time.Now())
	return e
}

// examineAgain returns the faults of a file that a running platform reads again, beyond those of
// its form. What a running platform cannot change is not looked at.
func examineAgain(cfg *config.Config, other fileSections) error {
	e := &examination{cfg: cfg, other: other}
	e.sections()
	return errors.Join(e.invalid...)
}

// err returns what keeps up from starting, or nil.
func (e *examination) err() error {
	if len(e.invalid) > 0 {
		return usageError{errors.Join(append(e.invalid, e.missing...)...)}
	}
	return errors.Join(e.missing...)
}

func (e *examination) found(name string, warnings []string, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" || len(warnings) > 0 {
		e.Parts = append(e.Parts, part{name, text, warnings})
	}
}

// fault notes an error of the configuration, or several, each of which has a line.
func (e *examination) fault(err error) {
	e.invalid = append(e.invalid, err)
	e.Faults = append(e.Faults, strings.Split(err.Error(), "\n")...)
}

// faultOf notes an error about a key.
func (e *examination) faultOf(key string, err error) {
	if err != nil {
		e.fault(e.cfg.Fault(key, err))
	}
}

// unavailable notes something that is not to be had now, about a key.
func (e *examination) unavailable(key string, err error) {
	err = e.cfg.Failure(key, err)
	e.missing = append(e.missing, err)
	e.Unavailable = append(e.Unavailable, err.Error())
}

// counts tells how many elements the sections have.
func (e *examination) counts() {
	listed := func(name string, n int) {
		if n > 0 {
			e.found(name, nil, "%d", n)
		}
	}
	listed("keys", len(e.cfg.Access.Keys))
	if e.other.webhooks != nil {
		listed("webhooks", len(e.other.webhooks.Endpoints))
	}
	if e.other.sinks != nil {
		listed("sinks", len(e.other.sinks.Sinks))
	}
	listed("sources", len(e.other.sources))
	if e.other.bus != nil {
		listed("bridges", len(e.other.bus.Bridges))
	}
	if e.other.tunnel != nil {
		listed("tunnel clients", len(e.other.tunnel.Clients))
	}
}

// directory looks at the data directory, or at the nearest directory above it that is there, and at
// the directories of sinks.
func (e *examination) directory() {
	dir, err := dataDir(e.cfg.Data.Dir)
	switch {
	case err != nil:
		e.faultOf("data.dir", err)
		return
	case dir == "" || e.cfg.Journal.Off():
		e.found("data", nil, "nothing is kept")
		return
	}
	e.dir, e.holder = dir, journal.Holder(platform.JournalDir(dir))
	e.writable("data.dir", dir)
	text := dir
	if e.holder > 0 {
		text = fmt.Sprintf("%s, with which the process %d runs", dir, e.holder)
	}
	e.found("data", nil, "%s", text)
}

// writable notes a directory that cannot be written, or made where it has to be.
func (e *examination) writable(key, dir string) {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			e.faultOf(key, fmt.Errorf("%s is no directory", at))
		case err == nil:
			if err := journal.MayWrite(at); err != nil {
				e.unavailable(key, fmt.Errorf("%s cannot be written: %w: give the user of the process rights to it, or mount it writable", at, err))
			}
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			continue
		default:
			e.unavailable(key, err)
		}
		return
	}
}

// directoryOf notes that a file cannot be made in its directory, which no part of up makes.
func (e *examination) directoryOf(key, file string) {
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); err != nil {
		e.unavailable(key, err)
		return
	}
	e.writable(key, dir)
}

// sections looks at the files that sections name, and that a platform reads at its start or with
// the file.
func (e *examination) sections() {
	if file := e.cfg.HTTP.ACMERoot; file != "" {
		_, err := deliver.Roots(file)
		e.faultOf("http.acme_root", err)
	}
	if h := e.other.webhooks; h != nil {
		_, err := deliver.Roots(h.RootCA)
		e.faultOf("webhooks", named("root_ca", err))
	}
	for i := range e.other.sources {
		if s := &e.other.sources[i]; s.MQTT != nil {
			_, err := deliver.Roots(s.MQTT.CA)
			e.faultOf("sources", named(s.Name, err))
		}
	}
	if s := e.other.sinks; s != nil {
		for _, sink := range s.Sinks {
			if file := sink.File(); file != "" && sink.Enabled {
				e.directoryOf("sinks", file)
			}
		}
	}
	if t := e.other.tunnel; t != nil {
		for _, err := range t.Faults() {
			e.faultOf("tunnel", err)
		}
	}
}

// named returns an error with the name of what it is about, or nil.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// certificates looks at the certificates of all interfaces. One that has ended is a fault.
func (e *examination) certificates() {
	var all []doctor.Certificate
	open := func(key, cert, private string) {
		if cert == "" {
			return
		}
		f, err := certificate.Open(cert, private)
		if err != nil {
			e.faultOf(key, err)
			return
		}
		leaf, _ := f.Certificate(nil) // it never fails
		all = append(all, doctor.Certificate{Of: key, File: cert, Ends: leaf.Leaf.NotAfter})
	}
	open("http.cert", e.cfg.HTTP.Cert, e.cfg.HTTP.Key)
	open("wire.cert", e.cfg.Wire.Cert, e.cfg.Wire.Key)
	if t := e.other.tunnel; t != nil {
		open("tunnel", t.Serve.Cert, t.Serve.Key)
	}
	for _, c := range append(all, platform.BusCertificates(e.cfg, e.other.bus)...) {
		day, left := c.Ends.UTC().Format(time.DateOnly), time.Until(c.Ends)
		var warnings []string
		switch {
		case left <= 0:
			e.faultOf(c.Of, fmt.Errorf("%s has ended on %s", c.File, day))
			continue
		case left < doctor.SoonEnds:
			warnings = append(warnings, fmt.Sprintf("it ends in %d days", left/(24*time.Hour)))
		}
		e.found(c.Of, warnings, "%s, until %s", c.File, day)
	}
}

func (e *examination) sets() {
	if _, err := track.ParsePolicy(e.cfg.Track.Policy); err != nil {
		e.faultOf("track.policy", err)
	}
	dir := e.cfg.Sets.Dir
	o, err := platform.SetOptions(e.cfg)
	if err != nil {
		e.fault(err)
		return
	}
	if dir == "" {
		return
	}
	catalog, err := dryrun.ReadSets(dir, o)
	if err != nil {
		e.faultOf("sets.dir", err)
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
		e.faultOf("sets.dir", err)
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

// clock compares the clock with times that have been: those of this build, and of the last write to
// the journal.
func (e *examination) clock(now time.Time) {
	var warnings []string
	if built := version.Get().Time; now.Before(built) {
		warnings = append(warnings, fmt.Sprintf("it is before the time of this build, %s: set it by NTP", built.UTC().Format(time.RFC3339)))
	}
	if e.dir != "" {
		entries, _ := os.ReadDir(platform.JournalDir(e.dir)) // there may be none
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && info.ModTime().After(now.Add(time.Hour)) {
				warnings = append(warnings, fmt.Sprintf("it is before the last write to the journal, %s: set it by NTP", info.ModTime().UTC().Format(time.RFC3339)))
				break
			}
		}
	}
	e.found("clock", warnings, "%s", now.UTC().Format(time.RFC3339))
}
