package geometry

// Tidied is a ring without what cancels by itself, and a count of that.
type Tidied struct {
	Ring    Ring
	Repeats int   // vertices equal to the one before
	Spikes  int   // turns back over the same line
	Repeat  Point // the first of each
	Spike   Point
}

// Tidy removes repeated vertices and spikes: no point's answer depends on them, since their
// edges count in pairs or never. What is left has an area, unless it has fewer than 3
// vertices. The ring returned is in buf.
func Tidy(r Ring, buf Ring) (t Tidied) {
	t.Ring = buf[:0]
	for _, p := range r {
		t.push(p)
	}
	t.closeUp()
	return t
}

func (t *Tidied) HasArea() bool { return len(t.Ring) >= 3 }

// tidiedShared is tidy of a ring that must not change: if it is tidy it is its own result.
func TidyShared(r Ring) Tidied {
	if r.IsTidy() {
		return Tidied{Ring: r}
	}
	return Tidy(r, make(Ring, 0, len(r)))
}

func (t *Tidied) push(p Point) {
	all := len(t.Ring)
	for n := all; ; n-- {
		if n >= 1 && t.Ring[n-1] == p {
			t.Ring = t.Ring[:n]
			if n == all { // else it is the foot of a spike
				t.noteRepeat(p)
			}
			return
		}
		if n < 2 || !turnsBack(t.Ring[n-2], t.Ring[n-1], p) {
			t.Ring = append(t.Ring[:n], p)
			return
		}
		t.noteSpike(t.Ring[n-1])
	}
}

// closeUp does across the ends of the chain what push does along it.
func (t *Tidied) closeUp() {
	for len(t.Ring) >= 2 {
		n := len(t.Ring)
		switch {
		case t.Ring[0] == t.Ring[n-1]:
			t.noteRepeat(t.Ring[0])
			t.Ring = t.Ring[:n-1]
		case turnsBack(t.Ring[n-2], t.Ring[n-1], t.Ring[0]):
			t.noteSpike(t.Ring[n-1])
			t.Ring = t.Ring[:n-1]
		case turnsBack(t.Ring[n-1], t.Ring[0], t.Ring[1]):
			t.noteSpike(t.Ring[0])
			t.Ring = t.Ring[1:]
		default:
			return
		}
	}
}

func (t *Tidied) noteRepeat(p Point) {
	if t.Repeats == 0 {
		t.Repeat = p
	}
	t.Repeats++
}

func (t *Tidied) noteSpike(p Point) {
	if t.Spikes == 0 {
		t.Spike = p
	}
	t.Spikes++
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
	return Orient(a, b, c) == 0
}

// IsTidy reports whether tidy would leave the ring as it is.
func (r Ring) IsTidy() bool {
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
