package wirestats

import (
	"encoding/json"
	"iter"
	"slices"

	"paddock/wire"
)

// Source has connections. A *wire.Server is one.
type Source interface {
	// All are the connections that are open, in any order.
	All() iter.Seq[*wire.Conn]
}

// Conns makes a Source of a function that lists connections, such as
// (*wire.Client).Conns.
type Conns func() []*wire.Conn

// All are the listed connections.
func (list Conns) All() iter.Seq[*wire.Conn] { return slices.Values(list()) }

// Total adds up the Stats of a Source's connections. If the Source has a method Total itself, as
// *wire.Server has, connections that have ended are included. Otherwise the counters fall when a
// connection ends.
func Total(s Source) (sum wire.Stats) {
	if s, ok := s.(interface{ Total() wire.Stats }); ok {
		return s.Total()
	}
	for c := range s.All() {
		sum.Add(c.Stats())
	}
	return sum
}

// Var is a variable for expvar.Publish: the total as a JSON object, by name. It is no
// expvar.Func because importing expvar mounts a handler on http.DefaultServeMux.
type Var struct{ Source }

// String is the JSON.
func (v Var) String() string {
	b, err := json.Marshal(Total(v.Source))
	if err != nil {
		return "null"
	}
	return string(b)
}
