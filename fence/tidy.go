package fence

// tidied is a ring without what cancels by itself, and a count of that.
type tidied struct {
	ring    Ring
	repeats int   // vertices equal to the one before
	spikes  int   // turns back over the same line
	repeat  Point // the first of each
	spike   Point
}

// tidy removes repeated vertices and spikes: no point's answer depends on them, since their
// edges count in pairs or never. What is left has an area, unless it has fewer than 3
// vertices. The ring returned is in buf.
func tidy(r Ring, buf Ring) (t tidied) {
	t.ring = buf[:0]
	for _, p := range r {
		t.push(p)
	}
	t.closeUp()
	return t
}

func (t *tidied) hasArea() bool { return len(t.ring) >= 3 }

// tidiedShared is tidy of a ring that must not change: if it is tidy it is its own result.
func tidiedShared(r Ring) tidied {
	if r.isTidy() {
		return tidied{ring: r}
	}
	return tidy(r, make(Ring, 0, len(r)))
}

func (t *tidied) push(p Point) {
	all := len(t.ring)
	for n := all; ; n-- {
		if n >= 1 && t.ring[n-1] == p {
			t.ring = t.ring[:n]
			if n == all { // else it is the foot of a spike
				t.noteRepeat(p)
			}
			return
		}
		if n < 2 || !turnsBack(t.ring[n-2], t.ring[n-1], p) {
			t.ring = append(t.ring[:n], p)
			return
		}
		t.noteSpike(t.ring[n-1])
	}
}

// closeUp does across the ends of the chain what push does along it.
func (t *tidied) closeUp() {
	for len(t.ring) >= 2 {
		n := len(t.ring)
		switch {
		case t.ring[0] == t.ring[n-1]:
			t.noteRepeat(t.ring[0])
			t.ring = t.ring[:n-1]
		case turnsBack(t.ring[n-2], t.ring[n-1], t.ring[0]):
			t.noteSpike(t.ring[n-1])
			t.ring = t.ring[:n-1]
		case turnsBack(t.ring[n-1], t.ring[0], t.ring[1]):
			t.noteSpike(t.ring[0])
			t.ring = t.ring[1:]
		default:
			return
		}
	}
}

func (t *tidied) noteRepeat(p Point) {
	if t.repeats == 0 {
		t.repeat = p
	}
	t.repeats++
}

func (t *tidied) noteSpike(p Point) {
	if t.spikes == 0 {
		t.spike = p
	}
	t.spikes++
}

// turnsBack reports whether b -> c goes back over the line a -> b, for a != b and b != c.
func turnsBack(a, b, c Point) bool {
	if a.Lon != b.Lon {
		if (a.Lon < b.Lon) == (b.Lon < c.Lon) {
			return false
		}
	} else if (a.Lat < b.Lat) == (b.Lat < c.Lat) {
		return false
	}
	return orient(a, b, c) == 0
}

// isTidy reports whether tidy would leave the ring as it is.
func (r Ring) isTidy() bool {
	if len(r) < 3 {
		return false
	}
	a, b := r[len(r)-2], r[len(r)-1]
	for _, c := range r {
		if a == b || b == c || turnsBack(a, b, c) {
			return false
		}
		a, b = b, c
	}
	return true
}
