package platform

import "paddock/internal/process/config"

// ownFiles is the number of files that the platform has open besides connections: logs, listening
// sockets, sets, and connections that are being refused.
const ownFiles = 128

// FewFiles is the number of files below which the operator is warned about lowered bounds.
const FewFiles = 4_096

// shareFiles divides the files that the process may open among the doors, if they are fewer than
// the bounds of all doors together, so that one door cannot exhaust the files of another. HTTP gets
// half, the bus and wire a quarter each; a door that needs less leaves the rest to the others. open
// is 0 if it is unknown. shareFiles reports whether it lowered a bound.
func shareFiles(c *config.Config, open int) (lowered bool) {
	doors := []struct {
		most   *int
		weight int
	}{
		{&c.Limits.Connections, 2}, {&c.Bus.MaxConnections, 1}, {&c.Wire.MaxConnections, 1},
	}
	left, weights := max(open-ownFiles, len(doors)), 0
	for _, d := range doors {
		weights += d.weight
	}
	if open == 0 || c.Limits.Connections+c.Bus.MaxConnections+c.Wire.MaxConnections <= left {
		return false
	}
	settled := make([]bool, len(doors))
	for again := true; again; { // until every door that needs less than its share has its bound
		again = false
		for i, d := range doors {
			if !settled[i] && *d.most <= left*d.weight/weights {
				settled[i], again = true, true
				left, weights = left-*d.most, weights-d.weight
			}
		}
	}
	for i, d := range doors {
		if !settled[i] {
			*d.most = max(left*d.weight/weights, 1)
		}
	}
	return true
}
