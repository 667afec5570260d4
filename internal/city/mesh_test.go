package city

import (
	"math"
	"testing"
)

// TestMeshInvariants checks the invariants of the mesh of a whole city.
func TestMeshInvariants(t *testing.T) {
	shores := newCoast(3)
	m := &mesh{}
	for _, land := range shores.lands {
		m.addLand(land)
	}
	land := 0.0
	for f := range m.first {
		land += area(m.ring(int32(f)))
	}
	layArterials(m, stream(3, "arterials"))
	partition(m, stream(3, "partition"), 400)
	for e := range int32(len(m.org)) {
		if m.prev[m.next[e]] != e || m.org[m.next[e]] != m.org[e^1] || m.face[m.next[e]] != m.face[e] {
			t.Fatalf("half-edge %d is followed by %d", e, m.next[e])
		}
	}
	for v, e := range m.out {
		if m.org[e] != int32(v) {
			t.Fatalf("vertex %d: half-edge %d starts at %d", v, e, m.org[e])
		}
	}
	parts := 0.0
	for f := range m.first {
		a := area(m.ring(int32(f)))
		if a <= 0 || m.face[m.first[f]] != int32(f) {
			t.Fatalf("face %d: area %v", f, a)
		}
		parts += a
	}
	if math.Abs(parts-land) > 1 {
		t.Errorf("the faces have %.1f m² of the land's %.1f m²", parts, land)
	}
}

func TestMeshCut(t *testing.T) {
	m := &mesh{}
	f := m.addLand([]vec{{0, 0}, {4, 0}, {4, 4}, {0, 4}})
	v := m.split(0, vec{1, 0})
	for _, step := range []struct {
		d    vec
		face int32
	}{{vec{1, -1}, f}, {vec{-1, -1}, water}, {vec{1, 1}, water}} {
		if h, ok := m.corner(3, step.d, 0); !ok || m.face[h] != step.face {
			t.Errorf("a step %v from vertex 3 leads to face %d, want %d", step.d, m.face[h], step.face)
		}
	}
	a, b := end{v, -1, m.pos[v]}, end{2, -1, m.pos[2]}
	right, ok := m.try(a, b, []vec{{1, 3}}, street, limits{clearance: 0.1, sine: 0.1})
	if !ok {
		t.Fatal("no way across a square")
	}
	if got := area(m.ring(f)); got != 5.5 {
		t.Errorf("left of the street: %v", got)
	}
	if got := area(m.ring(right)); got != 10.5 {
		t.Errorf("right of the street: %v", got)
	}
	if _, ok := m.try(end{0, -1, m.pos[0]}, end{1, -1, m.pos[1]}, nil, street, limits{clearance: 0.1, sine: 0.1}); ok {
		t.Error("a street on top of the shore")
	}
}

func TestContours(t *testing.T) {
	// An island of radius 90 with a lake of radius 30, and a rock of radius 10.
	height := func(p vec) float64 {
		return max(min(90-p.len(), p.len()-30), 10-p.sub(vec{150, 0}).len())
	}
	var areas []float64
	for _, ring := range sample(vec{-200, -200}, vec{200, 200}, 4, height).contours() {
		areas = append(areas, area(ring))
	}
	want := []float64{math.Pi * 90 * 90, -math.Pi * 30 * 30, math.Pi * 10 * 10}
	if len(areas) != len(want) {
		t.Fatalf("areas %v, want about %v", areas, want)
	}
	for i, w := range want {
		if math.Abs(areas[i]-w) > 0.1*math.Abs(w) {
			t.Errorf("areas %v, want about %v", areas, want)
		}
	}
}

func TestTrigonometry(t *testing.T) {
	for i := -1000; i < 2000; i++ {
		turns := float64(i) / 777
		sin, cos := sincos(turns)
		if math.Abs(sin-math.Sin(2*math.Pi*turns)) > 1e-8 || math.Abs(cos-math.Cos(2*math.Pi*turns)) > 1e-8 {
			t.Errorf("%v turns: sine %v, cosine %v", turns, sin, cos)
		}
		want := math.Mod(math.Atan2(sin, cos)*180/math.Pi+360, 360)
		if off := math.Abs(bearing(vec{sin, cos}) - want); off > 0.01 && off < 359.99 {
			t.Errorf("bearing %v, want %v", bearing(vec{sin, cos}), want)
		}
	}
}
