package histogram

// Compact counts durations in the buckets of a Histogram, and takes memory for the doublings in
// which there are any: 8 KiB each, of which a service's times have about ten. It belongs to one
// goroutine. The zero value is empty.
type Compact struct {
	pages       [Buckets / half]*[half]uint64
	count       uint64
	clamped     uint64
	least, most int64 // of count durations, in ns
}

// Record counts one duration in ns, as Histogram.Record does.
func (c *Compact) Record(ns int64) {
	if uint64(ns) > uint64(Max) {
		c.clamped++
		ns = min(max(ns, 0), int64(Max))
	}
	i := bucket(ns)
	c.page(i / half)[i%half]++
	c.note(1, ns, ns)
}

func (c *Compact) page(k int) *[half]uint64 {
	if c.pages[k] == nil {
		c.pages[k] = new([half]uint64)
	}
	return c.pages[k]
}

// note takes n durations from least to most into the extremes.
func (c *Compact) note(n uint64, least, most int64) {
	if c.count == 0 {
		c.least = least
	}
	if n > 0 {
		c.least, c.most = min(c.least, least), max(c.most, most)
	}
	c.count += n
}

// Add counts everything that o has counted: as if c had recorded it.
func (c *Compact) Add(o *Compact) {
	for k, p := range o.pages {
		if p == nil {
			continue
		}
		to := c.page(k)
		for i, n := range p {
			to[i] += n
		}
	}
	c.clamped += o.clamped
	c.note(o.count, o.least, o.most)
}

// Histogram returns a histogram that has counted the same.
func (c *Compact) Histogram() *Histogram {
	h := New()
	for k, p := range c.pages {
		if p != nil {
			copy(h.counts[k*half:], p[:])
		}
	}
	if h.clamped = c.clamped; c.count > 0 {
		h.least, h.most = c.least, c.most
	}
	return h
}
