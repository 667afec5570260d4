package lookup

import "paddock/fence/geometry"

const (
	// chunk is the number of points that are looked up at once: enough to amortise the call, and
	// few enough for their columns and answers to stay in the cache.
	chunk = 1024
	// chunkRefs bounds the results of a chunk, in refs, if all its points lie in all fences: 16
	// MiB. This memory is used before it can be counted, by at most as many requests at once as
	// there are processors.
	chunkRefs = 4 << 20
)

// pending holds points that were read and not looked up yet.
type pending struct{ lon, lat []float64 }

func (p *pending) reset() { p.lon, p.lat = p.lon[:0], p.lat[:0] }

func (p *pending) add(at geometry.Point) {
	p.lon, p.lat = append(p.lon, at.Lon), append(p.lat, at.Lat)
}

// chunkSize returns the number of points to look up at once.
func (l *Lookup) chunkSize() int {
	fences := 0
	for i := range l.sets {
		fences += l.sets[i].snap.Len()
	}
	return max(1, min(chunk, chunkRefs/max(fences, 1)))
}

// find looks up the pending points in all sets.
func (l *Lookup) find() error {
	held := int64(cap(l.Answer))
	for i := range l.sets {
		s := &l.sets[i]
		s.found.Reset()
		s.snap.AppendBatch(&s.found, l.pending.lon, l.pending.lat)
		held += refBytes * int64(cap(s.found.Refs))
	}
	return l.hold(held)
}

// refBytes is the size of a ref, in memory as in columns.
const refBytes = 4

// settle answers the pending points, each as Point does, followed by end.
func (l *Lookup) settle(end string) error {
	defer l.pending.reset()
	if err := l.find(); err != nil {
		return err
	}
	for i := range l.pending.lon {
		l.text(`{"fences":[`)
		first := true
		for j := range l.sets {
			s := &l.sets[j]
			if err := l.fences(s, s.found.Answer(i), &first); err != nil {
				return err
			}
		}
		l.text("]}")
		l.text(end)
	}
	return l.fits()
}

// take adds a point, and answers a chunk once it is full.
func (l *Lookup) take(p geometry.Point, size int, end string) error {
	if l.pending.add(p); len(l.pending.lon) < size {
		return nil
	}
	return l.settle(end)
}
