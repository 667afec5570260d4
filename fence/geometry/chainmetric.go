package geometry

// Chain returns the distance to the nearest of the edges from first over the others, or most if
// none is nearer than that.
func (m *Metric) Chain(first Point, others []Point, most float64) float64 {
	s := newSearch(m)
	s.nearer(float64(most * most))
	found := false
	for _, p := range others {
		if _, nearer := s.edge(first, p); nearer {
			found = true
		}
		first = p
	}
	if !found {
		return most
	}
	return s.metres()
}
