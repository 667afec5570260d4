package directory

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"paddock/fence"
)

// A record holds the files that the sets of the catalog were read from, by name, for a catalog that
// outlives the process. A file that has not changed since is not read again at the next start, so
// that changes over the API stay.
type record map[string]recordedFile

// recordedFile is the content of a file, and the state of its set after it was read.
type recordedFile struct {
	Sum        uint64    `json:"sum,string"` // hash of the content
	Options    string    `json:"options"`    // with which it was read
	Generation uint64    `json:"generation"`
	Loaded     time.Time `json:"loaded"`
	Skipped    int       `json:"skipped,omitempty"`
	Omitted    int       `json:"omitted,omitempty"`
	Removed    bool      `json:"removed,omitempty"` // the set was removed since, not with its file

	set string
}

// readingOptions names the options on which the content of a set depends.
func readingOptions(o fence.Options) string {
	return fmt.Sprintf("%s %s %q %t", o.Boundary, o.Antimeridian, o.IDProperty, o.Strict)
}

// Record returns a text about the served files, for Options.Record of the next start. Of a file
// whose set is not in the catalog any more it says so, which a set that is lost later does not.
func (d *Directory) Record() []byte {
	r := maps.Clone(*d.record.Load())
	for name, known := range r {
		_, there := d.o.Catalog.Get(known.set)
		known.Removed = !there
		r[name] = known
	}
	text, _ := json.Marshal(r) // such a map always encodes
	return text
}

// note renews the record.
func (d *Directory) note() {
	r := record{}
	for _, f := range d.sorted() {
		if f.served != nil || f.removed {
			r[f.name] = recordedFile{
				set: f.set, Sum: f.content, Options: readingOptions(d.o.Fences), Generation: f.generation,
				Loaded: f.loaded, Skipped: f.skipped, Omitted: f.omitted,
			}
		}
	}
	d.record.Store(&r)
}

// recall takes over the sets of unchanged files from the catalog, or their removal, and returns the
// files that have to be read. Recorded files that are gone are listed as files, so that their sets
// go.
func (d *Directory) recall(due []*file) (left []*file) {
	var r record
	if len(d.o.Record) > 0 {
		if err := json.Unmarshal(d.o.Record, &r); err != nil {
			d.log.Warn("the record of the sets' files is not readable; they are read again", "error", err)
		}
	}
	for name, known := range r {
		f := d.files[name]
		if f == nil {
			f = newFile(name)
			d.files[name] = f
		}
		f.served, _ = d.o.Catalog.Get(f.set)
		f.removed = known.Removed && f.served == nil
		f.content, f.generation, f.loaded = known.Sum, known.Generation, known.Loaded
		f.skipped, f.omitted = known.Skipped, known.Omitted
	}
	for _, f := range due {
		known, recorded := r[f.name]
		f.read = time.Now()
		if f.served == nil && !f.removed || !recorded || known.Options != readingOptions(d.o.Fences) || !f.unchanged(f.source(d.o.Dir)) {
			left = append(left, f)
			continue
		}
		f.missing, f.written = false, true
		d.log.Info("file unchanged; its set is that of the last run", "file", f.name, "set", f.set, "removed", f.removed)
	}
	return left
}
