package histogram

// Sparse is what a histogram has counted, without the buckets that are empty: 10 bytes for
// each of the others. It does not change.
type Sparse struct {
	buckets []uint16 // ascending; Buckets is below 2^16
	counts  []uint64
}

// Pack gives what h has counted so far.
func Pack(h *Histogram) Sparse {
	var n int
	first, counts := h.used()
	for _, c := range counts {
		if c != 0 {
			n++
		}
	}
	s := Sparse{make([]uint16, 0, n), make([]uint64, 0, n)}
	for i, c := range counts {
		if c != 0 {
			s.buckets, s.counts = append(s.buckets, uint16(first+i)), append(s.counts, c)
		}
	}
	return s
}

// Merge is what s and o have counted together.
func (s Sparse) Merge(o Sparse) Sparse {
	var m Sparse
	for i, j := 0, 0; i < len(s.buckets) || j < len(o.buckets); {
		switch {
		case j == len(o.buckets) || i < len(s.buckets) && s.buckets[i] < o.buckets[j]:
			m.buckets, m.counts = append(m.buckets, s.buckets[i]), append(m.counts, s.counts[i])
			i++
		case i == len(s.buckets) || o.buckets[j] < s.buckets[i]:
			m.buckets, m.counts = append(m.buckets, o.buckets[j]), append(m.counts, o.counts[j])
			j++
		default:
			m.buckets, m.counts = append(m.buckets, s.buckets[i]), append(m.counts, s.counts[i]+o.counts[j])
			i, j = i+1, j+1
		}
	}
	return m
}

// UpTo is how many of the durations lie in bucket i, 0 to Buckets-1, or in one before it.
func (s Sparse) UpTo(i int) (n uint64) {
	for at, b := range s.buckets {
		if int(b) > i {
			break
		}
		n += s.counts[at]
	}
	return n
}

// Count is how many durations were recorded.
func (s Sparse) Count() uint64 { return s.UpTo(Buckets) }
