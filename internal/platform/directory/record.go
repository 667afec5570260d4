package directory

import (
	"encoding/json"
	"fmt"
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
}

// readingOptions names the options on which the content of a set depends.
func readingOptions(o fence.Options) string {
	return fmt.Sprintf("%s %s %q %t", o.Boundary, o.Antimeridian, o.IDProperty, o.Strict)
}

// Record returns a text about the served files, for Options.Record of the next start.
func (d *Directory) Record() []byte { return *d.record.Load() }

// note renews the record.
func (d *Directory) note() {
	r := record{}
	for _, f := range d.sorted() {
		if f.served != nil {
			r[f.name] = recordedFile{
				Sum: f.content, Options: readingOptions(d.o.Fences), Generation: f.generation,
				Loaded: f.loaded, Skipped: f.skipped, Omitted: f.omitted,
			}
		}
	}
	text, _ := json.Marshal(r) // such a map always encodes
	d.record.Store(&text)
}

// recall takes over the sets of unchanged files from the catalog, and returns the files that have
// to be read. Recorded files that are gone are listed as files, so that their sets go.
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
		f.content, f.generation, f.loaded = known.Sum, known.Generation, known.Loaded
		f.skipped, f.omitted = known.Skipped, known.Omitted
	}
	for _, f := range due {
		known, recorded := r[f.name]
		f.read = time.Now()
		if f.served == nil || !recorded || known.Options != readingOptions(d.o.Fences) || !f.unchanged(f.source(d.o.Dir)) {
			left = append(left, f)
			continue
		}
		f.missing, f.written = false, true
		d.log.Info("file unchanged; its set is that of the last run", "file", f.name, "set", f.set)
	}
	return left
}
