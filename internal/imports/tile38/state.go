package tile38

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"paddock/fence/geojson"
	"paddock/internal/imports/feature"
)

// state is what is there after the commands so far.
type state struct {
	out         feature.Sink
	collections map[string]map[string]*stored // by key and id
	hooks       map[string]*hook              // by name
	applied     int                           // commands
	unknown     map[string]bool               // commands that a finding names already
	rules       map[string]bool               // ids of rules that are taken
}

// stored is an object of a collection.
type stored struct {
	order  int // of its command
	fields feature.Properties
	feature.Feature
}

func newState(out feature.Sink) *state {
	return &state{
		out: out, collections: map[string]map[string]*stored{}, hooks: map[string]*hook{},
		unknown: map[string]bool{}, rules: map[string]bool{},
	}
}

// errShort is the error of a command that lacks arguments.
var errShort = errors.New("it lacks arguments")

// reading takes the arguments of a command one by one.
type reading struct {
	args []string
	err  error // the first one
}

// next returns the next argument.
func (r *reading) next() string {
	if len(r.args) == 0 {
		if r.err == nil {
			r.err = errShort
		}
		return ""
	}
	arg := r.args[0]
	r.args = r.args[1:]
	return arg
}

// word returns the next argument in upper case, without going past it; "" at the end.
func (r *reading) word() string {
	if len(r.args) == 0 {
		return ""
	}
	return strings.ToUpper(r.args[0])
}

// number returns the next argument as a number.
func (r *reading) number() float64 {
	arg := r.next()
	if r.err != nil {
		return 0
	}
	f, err := feature.Number(arg)
	if err != nil {
		r.err = err
	}
	return f
}

// apply applies a command. One with a fault is a finding.
func (s *state) apply(c *command) {
	if len(c.args) == 0 {
		return
	}
	s.applied++
	r := &reading{args: c.args[1:]}
	switch name := strings.ToUpper(c.args[0]); name {
	case "SET":
		s.set(c, r)
	case "FSET":
		s.setFields(c, r)
	case "DEL":
		key := r.next()
		delete(s.collections[key], r.next())
	case "PDEL":
		key := r.next()
		pattern := r.next()
		maps.DeleteFunc(s.collections[key], func(id string, _ *stored) bool { return matches(pattern, id) })
	case "DROP":
		delete(s.collections, r.next())
	case "RENAME", "RENAMENX":
		from, to := r.next(), r.next()
		if objects, ok := s.collections[from]; ok && r.err == nil && from != to && (name == "RENAME" || s.collections[to] == nil) {
			s.collections[to] = objects
			delete(s.collections, from)
		}
	case "FLUSHDB":
		clear(s.collections)
		clear(s.hooks)
	case "SETHOOK", "SETCHAN":
		s.setHook(c, r, name == "SETHOOK")
	case "DELHOOK", "DELCHAN":
		delete(s.hooks, r.next())
	case "PDELHOOK", "PDELCHAN":
		pattern := r.next()
		maps.DeleteFunc(s.hooks, func(name string, _ *hook) bool { return matches(pattern, name) })
	default:
		if !s.unknown[name] && len(s.unknown) < 100 {
			s.unknown[name] = true
			s.out.Note(feature.Noted(c.place, feature.CodeNotCarried, "the command %.40s is not read", name))
		}
	}
	if r.err != nil {
		s.out.Note(feature.Refused(c.place, geojson.CodeInvalidGeometry, "%s: %v", strings.ToUpper(c.args[0]), r.err))
	}
}

// matches reports whether a pattern of Tile38 selects a name. One with a fault selects nothing.
func matches(pattern, name string) bool {
	// path.Match has these patterns, but its stars end at a slash.
	flat := strings.NewReplacer("/", "\x01")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}

// set applies SET key id [FIELD name value]... [EX seconds] [NX|XX] and an object.
func (s *state) set(c *command, r *reading) {
	o := &stored{order: s.applied}
	o.Place, o.Set = c.place, r.next()
	id := r.next()
	o.ID = feature.Text(id)
	there := s.collections[o.Set][id]
	if there != nil {
		o.fields = there.fields.Clone() // they stay, unless the command sets them
	}
	for {
		switch r.word() {
		case "FIELD":
			r.next()
			name := r.next()
			o.fields.Set(name, field(r.next()))
			continue
		case "EX":
			r.next()
			s.out.Note(feature.Finding{Place: c.place, Key: id, Code: feature.CodeNotCarried, Reason: "EX " + r.next() + ": the fence does not end; its property paddock:expires could"})
			continue
		case "NX":
			r.next()
			if there != nil {
				return
			}
			continue
		case "XX":
			r.next()
			if there == nil {
				return
			}
			continue
		}
		break
	}
	if strings.EqualFold(r.word(), "STRING") {
		s.out.Note(feature.Finding{Place: c.place, Key: id, Code: feature.CodeNotCarried, Reason: "a STRING has no place"})
		delete(s.collections[o.Set], id)
		return
	}
	properties, err := area(r, &o.Geometry, inSet)
	if r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return
	}
	for name, value := range feature.Members(properties) {
		o.Properties.Set(name, feature.Compact(value))
	}
	if s.collections[o.Set] == nil {
		s.collections[o.Set] = map[string]*stored{}
	}
	s.collections[o.Set][id] = o
}

// setFields applies FSET key id [XX] and names with values.
func (s *state) setFields(c *command, r *reading) {
	key := r.next()
	o := s.collections[key][r.next()]
	if r.word() == "XX" {
		r.next()
	}
	for len(r.args) > 0 {
		name := r.next()
		value := field(r.next())
		if o != nil && r.err == nil {
			o.fields.Set(name, value)
		}
	}
}

// end gives everything to the sink: the fences in the order of their commands, then the hooks.
func (s *state) end() error {
	var all []*stored
	for key, objects := range s.collections {
		for _, o := range objects {
			o.Set = key
			o.fields.Each(o.Properties.Set)
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *stored) int { return cmp.Compare(a.order, b.order) })
	fences := map[string]map[string]bool{} // that the sink has, for hooks
	for _, o := range all {
		if len(o.Geometry.Areas)+len(o.Geometry.Lines) > 0 || o.Geometry.Radius > 0 {
			if fences[o.Set] == nil {
				fences[o.Set] = map[string]bool{}
			}
			fences[o.Set][o.Key()] = true
		}
		if err := s.out.Take(&o.Feature); err != nil {
			return err
		}
	}
	hooks := slices.SortedFunc(maps.Values(s.hooks), func(a, b *hook) int { return cmp.Compare(a.order, b.order) })
	for _, h := range hooks {
		if err := s.take(h, fences); err != nil {
			return fmt.Errorf("the hook %.80q: %w", h.name, err)
		}
	}
	return nil
}
