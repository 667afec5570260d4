package histogram

// Compact counts durations in the buckets of a Histogram, and takes memory for the doublings in
// which there are any: 8 KiB each, of which a service's times have about ten. It belongs to one
// goroutine. The zero value is empty.
type Compact struct {
	pages   [Buckets / half]*[half]uint64
	clamped uint64
	past    int64 // -1-least, so that 0 is nothing
	most    int64 // ns
}

// Record counts one duration in ns, as Histogram.Record does.
func (c *Compact) Record(ns int64) {
	if uint64(ns) > uint64(Max) {
		c.clamped++
		ns = min(max(ns, 0), int64(Max))
	}
	i := bucket(ns)
	p := &c.pages[i/half]
	if *p == nil {
		*p = new([half]uint64)
	}
	(*p)[i%half]++
	if c.past == 0 || ns < -1-c.past {
		c.past = -1 - ns
	}
	c.most = max(c.most, ns)
}

// AddTo counts everything in h: as if h had recorded it.
func (c *Compact) AddTo(h *Histogram) {
	for k, p := range c.pages {
		if p != nil {
			for i, n := range p {
				h.counts[k*half+i] += n
			}
		}
	}
	h.clamped += c.clamped
	if c.past != 0 {
		h.least, h.most = min(h.least, -1-c.past), max(h.most, c.most)
	}
}
