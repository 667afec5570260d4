package geometry

// Chain returns the distance to the nearest of the edges from first over the others, or most if
// none is nearer than that. It passes by edges that are on one side of near, a box around all
// places that are less than most away.
func (m *Metric) Chain(first Point, others []Point, most float64, near *Box) float64 {
	s := newSearch(m)
	s.nearer(float64(most * most))
	found := false
	for _, p := range others {
		if !near.isBeside(first, p) {
			if _, nearer := s.edge(first, p); nearer {
				found = true
			}
		}
		first = p
	}
	if !found {
		return most
	}
	return s.metres()
}

// isBeside reports whether the edge a-b is on one side of the box.
func (b *Box) isBeside(p, q Point) bool {
	return p.Lat < b.MinLat && q.Lat < b.MinLat || p.Lat > b.MaxLat && q.Lat > b.MaxLat ||
		p.Lon < b.MinLon && q.Lon < b.MinLon || p.Lon > b.MaxLon && q.Lon > b.MaxLon
}
