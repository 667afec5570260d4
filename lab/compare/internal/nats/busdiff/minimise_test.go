package busdiff

import "slices"

// minimiseTries bounds how often a script is played to make it smaller.
const minimiseTries = 400

// minimise makes s smaller while still reports true: it removes whole steps, then parts of the
// bytes, the longest first.
func minimise(s Script, still func(*Script) bool) Script {
	tries := 0
	try := func(candidate Script) bool {
		if !candidate.ordered() { // a script without a defined answer shows nothing
			return false
		}
		if tries++; tries > minimiseTries || !still(&candidate) {
			return false
		}
		s = candidate
		return true
	}
	try(s.joined())
	for smaller := true; smaller && tries < minimiseTries; {
		smaller = false
		for i := len(s.Steps) - 1; i >= 0; i-- {
			without := Script{Setting: s.Setting, Steps: slices.Delete(slices.Clone(s.Steps), i, i+1)}
			smaller = len(without.Steps) > 0 && try(without.renumbered()) || smaller
			if i > len(s.Steps) {
				i = len(s.Steps)
			}
		}
		for i := 0; i < len(s.Steps); i++ {
			smaller = shorten(i, &s, try) || smaller
		}
	}
	return s
}

// shorten takes lines, then pieces, out of step i.
func shorten(i int, s *Script, try func(Script) bool) (smaller bool) {
	for size := len(s.Steps[i].Data) / 2; size > 0; size /= 2 {
		for at := 0; at < len(s.Steps[i].Data); {
			data := s.Steps[i].Data
			end := min(at+size, len(data))
			if line := byLine(data[at:]); size > 1 && line < size {
				end = at + line
			}
			rest := slices.Concat(data[:at], data[end:])
			if len(rest) == 0 {
				break
			}
			candidate := Script{Setting: s.Setting, Steps: slices.Clone(s.Steps)}
			candidate.Steps[i].Data = rest
			if try(candidate) {
				smaller = true
				continue
			}
			at = end
		}
	}
	return smaller
}

// ordered reports whether each connection syncs before another one has its turn.
func (s *Script) ordered() bool {
	for i := 1; i < len(s.Steps); i++ {
		if before := &s.Steps[i-1]; !before.sync() && before.Conn != s.Steps[i].Conn {
			return false
		}
	}
	return true
}

// renumbered gives the connections that are left the first letters.
func (s Script) renumbered() Script {
	names := make(map[int]int)
	out := Script{Setting: s.Setting, Steps: slices.Clone(s.Steps)}
	for i := range out.Steps {
		n, ok := names[out.Steps[i].Conn]
		if !ok {
			n = len(names)
			names[out.Steps[i].Conn] = n
		}
		out.Steps[i].Conn = n
	}
	return out
}
