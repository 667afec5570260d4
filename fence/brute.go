package fence

// brute applies the rule of the package comment to every edge of every fence. It is the
// reference that the other kinds are compared with, and is kept plain for that.
type brute struct {
	t *table
}

var _ Index = brute{}

type bruteWriter struct{}

func newBruteWriter() writer { return bruteWriter{} }

func (bruteWriter) replace(_, _ *entry)    {}
func (bruteWriter) publish(t *table) Index { return brute{t} }

func (b brute) Append(dst []Ref, lon, lat float64) []Ref {
	p, ok := normalize(lon, lat)
	if !ok {
		return dst
	}
	for _, pg := range b.t.pages {
		if pg == nil {
			continue
		}
		for _, e := range pg.entries {
			if e != nil && e.fence.Geometry.holds(p) {
				dst = append(dst, e.ref)
			}
		}
	}
	return dst
}

func (b brute) AppendBatch(dst *Batch, lon, lat []float64) { dst.appendEach(lon, lat, b.Append) }

func (b brute) Stats() Stats { return b.t.stats(KindBrute, 0) }
