package fence

// brute applies the rule of the package comment to every edge of every fence. It is the
// reference that the other kinds are compared with, and is kept plain for that.
type brute struct {
	t    *table
	rule rule
	kind string
}

type bruteWriter struct {
	rule rule
	kind string
}

func newBruteWriter(o indexOptions) writer { return bruteWriter{o.rule, o.kind} }

func (bruteWriter) replace(_, _ *entry)      {}
func (w bruteWriter) publish(t *table) index { return filtered{brute{t, w.rule, w.kind}, w.rule} }

func (b brute) find(dst []Ref, p Point) []Ref {
	for _, pg := range b.t.pages {
		if pg == nil {
			continue
		}
		for _, e := range pg.entries {
			if e != nil && e.fence.Geometry.decide(b.rule, p) {
				dst = append(dst, e.ref)
			}
		}
	}
	return dst
}

func (b brute) Stats() indexStats { return b.t.stats(b.kind, 0) }
