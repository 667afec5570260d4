package perf

import "paddock/wire"

// counters are those of a connection; of a client, those of the connections that
// it has now.
func counters(c Conn) (sum wire.Stats) {
	switch c := c.(type) {
	case interface{ Stats() wire.Stats }:
		return c.Stats()
	case *wire.Client:
		for _, one := range c.Conns() {
			sum.Add(one.Stats())
		}
	}
	return sum
}

// stats are the counters of the client's connections together.
func (r *Run) stats() map[string]int64 {
	var all wire.Stats
	for _, c := range r.Conns {
		all.Add(counters(c))
	}
	return all.Map()
}

// reconnects is how often the clients of a run have made a connection again.
func (r *Run) reconnects() (n int64) {
	for _, c := range r.Conns {
		if client, ok := c.(*wire.Client); ok {
			n += max(0, int64(client.Stats().Connects)-1)
		}
	}
	return n
}
