package platform

import "paddock/internal/process/config"

// ownFiles is how many files the platform has open besides connections: logs, sockets that
// listen, sets, and those of connections that are being turned away.
const ownFiles = 128

// fewFiles is below what operators are warned of the bounds that follow.
const fewFiles = 4_096

// shareFiles divides the files that the process may have open among the doors, where they are
// fewer than the bounds of all doors together: one door must not take what lets vehicles in
// at another. HTTP gets half, the bus and wire a quarter each; what one of them does not want
// is the others'. open is 0 where it is not known. It says whether a bound was lowered.
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
	for again := true; again; { // until every door that wants less than its share has that
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
