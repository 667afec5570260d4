package fence

// chainEdges is how many edges a chain has at most. Short ones discard more, long ones have
// fewer boxes to look at; between 8 and 32 it makes little difference for streets.
const chainEdges = 16

// chain is a piece of a ring with its box: vertices that each but the first ends an edge.
type chain struct {
	box      Box
	vertices []Point
}

// preparedPart answers for a part as the part itself does, with fewer edges looked at. It
// shares the part's memory.
type preparedPart []chain

func prepare(pg Polygon) preparedPart {
	var chains preparedPart
	for _, r := range pg {
		if len(r) == 0 {
			continue
		}
		for from := 0; from+1 < len(r); from += chainEdges {
			to := min(from+chainEdges+1, len(r))
			chains = append(chains, newChain(r[from:to:to]))
		}
		chains = append(chains, newChain([]Point{r[len(r)-1], r[0]}))
	}
	return chains
}

func newChain(vertices []Point) chain {
	return chain{Polygon{vertices}.Bounds(), vertices}
}

// holds is Polygon.holds. It discards exactly: an edge that counts spans the point's latitude
// and reaches to its east; and one that spans it and lies all to its east counts, so that for
// a chain to the east only the two ends tell whether the number is odd.
//
// hot: guarded by BenchmarkAppend and the conformance suite's "does not allocate".
func (part preparedPart) holds(p Point) bool {
	odd := false
	for i := range part {
		c := &part[i]
		if p.Lat < c.box.MinLat || p.Lat >= c.box.MaxLat || p.Lon >= c.box.MaxLon {
			continue
		}
		a := c.vertices[0]
		if p.Lon < c.box.MinLon {
			b := c.vertices[len(c.vertices)-1]
			odd = odd != spans(a, b, p.Lat)
			continue
		}
		for _, b := range c.vertices[1:] {
			if spans(a, b, p.Lat) && eastward(a, b, p) {
				odd = !odd
			}
			a = b
		}
	}
	return odd
}
