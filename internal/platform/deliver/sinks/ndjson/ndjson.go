// Package ndjson writes events to a file, one JSON object a line.
//
// A batch is on disk when it counts as taken. A file that has become too long gets a name with the
// time, and a new one is begun; of such files the newest are kept. A line that a crash has cut off
// is removed before the next one is written.
package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/deliver"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

// Config is the section file of a sink.
type Config struct {
	Path     string
	MaxBytes config.Size // of a file; a batch is not divided
	Keep     int         // older files that are kept
}

// The bounds of Keep.
const maxKeep = 100_000

// Read reads the section. Faults are those of the file.
func Read(n *strictyaml.Node) *Config {
	c := &Config{MaxBytes: 64 * config.MiB, Keep: 16}
	strictyaml.Fields{
		"path":      strictyaml.Into(&c.Path, strictyaml.NonEmpty),
		"max_bytes": strictyaml.Into(&c.MaxBytes, config.ParseSize),
		"keep":      strictyaml.Into(&c.Keep, keep),
	}.Read(n, "file")
	if c.Path == "" {
		n.Fault("file: path is missing")
	}
	if c.MaxBytes <= 0 {
		n.Fault("file: max_bytes is too small")
	}
	return c
}

func keep(text string) (n int, err error) {
	if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxKeep {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", text, maxKeep)
	}
	return n, nil
}

// Locate makes a relative path one below the directory of the configuration file.
func (c *Config) Locate(dir string) { deliver.Below(dir, &c.Path) }

func (c *Config) String() string { return c.Path }

// End is the file as the end of a follower.
type End struct {
	c      Config
	tile38 bool
	file   *os.File // nil: it is opened by the next batch
	size   int64    // of whole lines
	buf    []byte
}

// New returns the end for a file, with events as notifications of Tile38 if tile38 is set.
func New(c *Config, tile38 bool) *End { return &End{c: *c, tile38: tile38} }

// Close implements [deliver.End].
func (e *End) Close() {
	if e.file != nil {
		_ = e.file.Close() // it is on disk
		e.file = nil
	}
}

// Send implements [deliver.End].
func (e *End) Send(_ context.Context, b *deliver.Batch) deliver.Result {
	e.buf = e.buf[:0]
	for i := range b.Items {
		if e.tile38 {
			e.buf = b.Items[i].AppendTile38(e.buf)
		} else {
			e.buf = b.Items[i].AppendCloudEvent(e.buf)
		}
		e.buf = append(e.buf, '\n')
	}
	err := e.write()
	if cap(e.buf) > 4<<20 { // of a rare long event
		e.buf = nil
	}
	if err != nil {
		e.Close()
		return deliver.Result{Verdict: deliver.Failed, Reason: err.Error()}
	}
	return deliver.Result{}
}

// write appends the buffer, durably. After an error the file has what it had.
func (e *End) write() error {
	if err := e.open(); err != nil {
		return err
	}
	if e.size > 0 && e.size+int64(len(e.buf)) > int64(e.c.MaxBytes) {
		if err := e.rotate(); err != nil {
			return err
		}
	}
	_, err := e.file.WriteAt(e.buf, e.size)
	if err == nil {
		err = e.file.Sync()
	}
	if err != nil {
		return errors.Join(err, e.file.Truncate(e.size))
	}
	e.size += int64(len(e.buf))
	return nil
}

// open opens the file, and another one if that has taken its name, such as by a program that
// rotates logs.
func (e *End) open() error {
	if e.file != nil {
		named, err := os.Stat(e.c.Path)
		own, ownErr := e.file.Stat()
		if err == nil && ownErr == nil && os.SameFile(named, own) && own.Size() == e.size {
			return nil
		}
		e.Close()
	}
	f, err := os.OpenFile(e.c.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	size, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	e.file, e.size = f, size
	return deliver.SyncDir(filepath.Dir(e.c.Path))
}

// wholeLines returns the length of a file up to its last newline.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	part := make([]byte, 64<<10)
	for end > 0 {
		from := max(0, end-int64(len(part)))
		n, err := f.ReadAt(part[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at := bytes.LastIndexByte(part[:n], '\n'); at >= 0 {
			return from + int64(at) + 1, nil
		}
		end = from
	}
	return 0, nil
}

const (
	// stamp is the time in the name of an older file.
	stamp = "20060102T150405.000000Z"
	unit  = time.Microsecond // of it
)

// rotate gives the file a name with the time, begins a new one, and removes the oldest.
func (e *End) rotate() error {
	stamps, err := e.older()
	if err != nil {
		return err
	}
	at := time.Now().UTC()
	if n := len(stamps); n > 0 && at.Before(stamps[n-1].Add(unit)) { // the clock was set back
		at = stamps[n-1].Add(unit)
	}
	if err := os.Rename(e.c.Path, e.nameOf(at)); err != nil {
		return err
	}
	e.Close()
	if err := e.open(); err != nil {
		return err
	}
	for ; len(stamps) >= e.c.Keep; stamps = stamps[1:] {
		if err := os.Remove(e.nameOf(stamps[0])); err != nil {
			return err
		}
	}
	return nil
}

// parts returns what stands before and behind the time in the names of older files.
func (e *End) parts() (before, after string) {
	after = filepath.Ext(e.c.Path)
	return strings.TrimSuffix(filepath.Base(e.c.Path), after) + "-", after
}

// nameOf returns the name of an older file.
func (e *End) nameOf(at time.Time) string {
	before, after := e.parts()
	return filepath.Join(filepath.Dir(e.c.Path), before+at.Format(stamp)+after)
}

// older returns the times in the names of the older files, in order.
func (e *End) older() (stamps []time.Time, err error) {
	before, after := e.parts()
	entries, err := os.ReadDir(filepath.Dir(e.c.Path)) // by their names
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry.Name(), before)
		text, is := strings.CutSuffix(text, after)
		if at, err := time.Parse(stamp, text); ok && is && err == nil && at.Format(stamp) == text {
			stamps = append(stamps, at)
		}
	}
	return stamps, err
}
