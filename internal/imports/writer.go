package imports

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paddock/fence"
	"paddock/fence/track/rule"
)

// rulesName is the file of rules in a directory of sets.
const rulesName = "rules.yaml"

var (
	// errTaken is wrapped where two inputs give the same set, or the same rule.
	errTaken = errors.New("already imported")
	// errTooMany is wrapped where a file has more sets than an import may write.
	errTooMany = errors.New("too many sets")
)

// writer writes the sets of an import into a directory. Nothing has its name there before commit.
type writer struct {
	dir     string
	force   bool
	outputs []*output
	rules   []*rule.Rule
	written bool // of the rules
	// others are the files that were there, by their sets. Files named as they are written here are
	// not among them.
	others map[string]string
}

// output is the file of one set.
type output struct {
	source      string // the file that the set is made of
	given, name string // the set as the file names it, and as it is named here
	path        string
	file        *os.File
	buffer      *bufio.Writer
	features    int
	keys        map[string]bool
}

func newWriter(dir string, force bool) *writer { return &writer{dir: dir, force: force} }

// open begins a set.
func (w *writer) open(source, given, name string) (*output, error) {
	for _, o := range w.outputs {
		if o.name == name {
			return nil, fmt.Errorf("%s: the set %s is %w from %s", source, name, errTaken, o.source)
		}
	}
	if len(w.outputs) == MaxSets {
		return nil, fmt.Errorf("%s: %w: the limit is %d", source, errTooMany, MaxSets)
	}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		return nil, err
	}
	if err := w.list(); err != nil {
		return nil, err
	}
	if other, ok := w.others[name]; ok { // beside which no file of this name can be loaded
		return nil, fmt.Errorf("%s: %w, and would be the set %s too: move it away", filepath.Join(w.dir, other), ErrExists, name)
	}
	o := &output{source: source, given: given, name: name, path: filepath.Join(w.dir, name+".geojson"), keys: map[string]bool{}}
	if err := w.free(o.path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(o.path+".partial", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	o.file, o.buffer = f, bufio.NewWriterSize(f, 1<<16)
	w.outputs = append(w.outputs, o)
	_, err = o.buffer.WriteString(`{"type":"FeatureCollection","features":[`)
	return o, err
}

// list finds others.
func (w *writer) list() error {
	if w.others != nil {
		return nil
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	w.others = map[string]string{}
	for _, e := range entries {
		file := e.Name()
		name := fence.Slug(strings.TrimSuffix(file, filepath.Ext(file)))
		if !e.IsDir() && strings.HasSuffix(file, "json") && file != name+".geojson" {
			w.others[name] = file
		}
	}
	return nil
}

// free refuses to replace a file unless that is wanted, and what is no file in any case.
func (w *writer) free(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: it is there already, and is no file", path)
	case !w.force:
		return fmt.Errorf("%s: %w; --force replaces it", path, ErrExists)
	}
	return nil
}

// repeats reports whether a feature of the set has the key already.
func (o *output) repeats(key string) bool {
	if o.keys[key] {
		return true
	}
	o.keys[key] = true
	return false
}

// append writes a feature.
func (o *output) append(text []byte) error {
	separator := ",\n"
	if o.features == 0 {
		separator = "\n"
	}
	o.features++
	_, err := o.buffer.WriteString(separator)
	if err == nil {
		_, err = o.buffer.Write(text)
	}
	return err
}

// end writes the end of a set, and makes its bytes durable.
func (o *output) end() error {
	_, err := o.buffer.WriteString("\n]}\n")
	o.keys = nil
	return errors.Join(err, o.buffer.Flush(), o.file.Sync(), o.file.Close())
}

// addRules adds the rules of a file. Two of one id are an error.
func (w *writer) addRules(source string, rules []*rule.Rule) error {
	for _, r := range rules {
		if slices.ContainsFunc(w.rules, func(o *rule.Rule) bool { return o.ID == r.ID }) {
			return fmt.Errorf("%s: the rule %s is %w", source, r.ID, errTaken)
		}
	}
	w.rules = append(w.rules, rules...)
	return nil
}

// drop forgets a set.
func (w *writer) drop(o *output) {
	_ = o.file.Close() // nothing of it is kept
	_ = os.Remove(o.path + ".partial")
	w.outputs = slices.DeleteFunc(w.outputs, func(p *output) bool { return p == o })
}

// commit gives all files their names.
func (w *writer) commit() error {
	if err := w.writeRules(); err != nil {
		return err
	}
	for _, o := range w.outputs {
		if err := os.Rename(o.path+".partial", o.path); err != nil {
			return err
		}
	}
	if w.written {
		if err := os.Rename(w.rulesPath()+".partial", w.rulesPath()); err != nil {
			return err
		}
	}
	if len(w.outputs) == 0 && !w.written {
		return nil
	}
	w.outputs = nil
	return syncDir(w.dir)
}

// writeRules writes the rules beside their file.
func (w *writer) writeRules() error {
	if len(w.rules) == 0 {
		return nil
	}
	if err := w.free(w.rulesPath()); err != nil {
		return err
	}
	text := []byte("{\"rules\":[")
	for i, r := range w.rules {
		if i > 0 {
			text = append(text, ',')
		}
		text = r.AppendJSON(append(text, '\n'))
	}
	f, err := os.OpenFile(w.rulesPath()+".partial", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	w.written = true
	_, err = f.Write(append(text, "\n]}\n"...))
	return errors.Join(err, f.Sync(), f.Close())
}

func (w *writer) rulesPath() string { return filepath.Join(w.dir, rulesName) }

// rulesFile returns the path of the file of rules; "" if none was written.
func (w *writer) rulesFile() string {
	if !w.written {
		return ""
	}
	return w.rulesPath()
}

// discard removes what has no name yet.
func (w *writer) discard() {
	for len(w.outputs) > 0 {
		w.drop(w.outputs[0])
	}
	if len(w.rules) > 0 {
		_ = os.Remove(w.rulesPath() + ".partial") // of a commit that failed
	}
}

// syncDir makes the names of a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system and file system has it
	return d.Close()
}
