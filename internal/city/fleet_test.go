package city

import (
	"math"
	"testing"
	"time"

	"paddock/fence/geometry"
)

func TestNetworkIsConnected(t *testing.T) {
	for seed := range uint64(3) {
		c := cityOf(t, seed)
		n := c.streets
		r := c.routes()
		for h := range r.hubs {
			for v, cost := range r.cost[h] {
				if cost < 0 {
					t.Fatalf("seed %d: no way from node %d to hub %d", seed, v, h)
				}
			}
		}
		var metres float64
		for i := range n.links {
			metres += n.length(arc(2 * i))
		}
		for v := range n.nodes() {
			if len(n.leaving(int32(v))) < 2 {
				t.Fatalf("seed %d: node %d is a dead end", seed, v)
			}
		}
		t.Logf("seed %d: %d nodes, %d links, %.0f km", seed, n.nodes(), len(n.links), metres/1000)
	}
}

// TestNextReachesHub follows the routing tables.
func TestNextReachesHub(t *testing.T) {
	c := cityOf(t, 1)
	r := c.routes()
	for h := range r.hubs {
		for v := 0; v < c.streets.nodes(); v += 97 {
			at := int32(v)
			for steps := 0; at != r.hubs[h]; steps++ {
				a := c.streets.leaving(at)[r.next[h][at]]
				if got, want := r.cost[h][c.streets.head(a)], r.cost[h][at]-c.streets.travelTime(a); got != want {
					t.Fatalf("hub %d, node %d: %d tenths left, want %d", h, at, got, want)
				}
				at = c.streets.head(a)
			}
		}
	}
}

func TestFleetDrivesSensibly(t *testing.T) {
	c := cityOf(t, 1)
	f := c.Fleet()
	last := f.Step(0, nil)
	moved := make([]float64, len(f.vehicles))
	stood := make([]int, len(f.vehicles))
	var fixes []Fix
	var sum, gap float64
	const seconds = 1200
	for second := range seconds {
		fixes = f.Step(time.Second, fixes[:0])
		for i, x := range fixes {
			a, b := plane(geometry.Point{Lon: last[i].Lon, Lat: last[i].Lat}), plane(geometry.Point{Lon: x.Lon, Lat: x.Lat})
			d := b.sub(a).len()
			if limit := max(last[i].Speed, x.Speed) + 16; d > limit {
				t.Errorf("%s moved %.1f m in a second at %.1f m/s", x.ID, d, x.Speed)
			}
			if x.Speed < 0 || x.Speed > 22 || x.Heading < 0 || x.Heading >= 360 || x.Accuracy <= 0 || x.Accuracy > 40 {
				t.Errorf("%+v", x)
			}
			moved[i] += x.Speed
			sum += x.Speed
			if x.Speed == 0 {
				stood[i]++
			}
			gap += math.Abs(d - (last[i].Speed+x.Speed)/2)
			if second%10 > 0 {
				continue
			}
			if off := f.offStreet(i, b); off > 60 {
				t.Errorf("%s is %.0f m off its street", x.ID, off)
			}
		}
		copy(last, fixes)
	}
	sum, gap = sum/float64(seconds*len(f.vehicles)), gap/float64(seconds*len(f.vehicles))
	t.Logf("mean speed %.1f m/s; on average %.2f m from what the speed says", sum, gap)
	if sum < 4 || sum > 11 || gap > 1.5 {
		t.Errorf("mean speed %.1f m/s; on average %.2f m from what the speed says", sum, gap)
	}
	for i := range moved {
		if moved[i] < 200 || stood[i] > seconds*9/10 {
			t.Errorf("%s: %.0f m in twenty minutes, stood %d s", f.ids[i], moved[i], stood[i])
		}
	}
}

// offStreet is the distance of p from the street that vehicle i is on.
func (f *Fleet) offStreet(i int, p vec) float64 {
	l := f.n.links[f.vehicles[i].arc.link()]
	least := math.Inf(1)
	for k := l.start; k < l.end-1; k++ {
		d, _ := segmentDistance(p, f.n.pos[k], f.n.pos[k+1])
		least = min(least, d)
	}
	return least
}

func TestStepIsDeterministic(t *testing.T) {
	c := cityOf(t, 1)
	f, g := c.Fleet(), c.Fleet()
	var a, b []Fix
	for i := range 300 {
		dt := time.Duration(100+i*7) * time.Millisecond
		a, b = f.Step(dt, a[:0]), g.Step(dt, b[:0])
		for k := range a {
			if a[k] != b[k] {
				t.Fatalf("step %d: %+v and %+v", i, a[k], b[k])
			}
		}
	}
}

// TestVehiclesChangeDistricts counts the vehicles that are in another district
// at some time within ten minutes.
func TestVehiclesChangeDistricts(t *testing.T) {
	c := cityOf(t, 1)
	o := newOwners(c.set(t, "districts"))
	f := c.Fleet()
	fixes := f.Step(0, nil)
	first := make([][]int, len(fixes))
	for i, x := range fixes {
		first[i] = o.of(geometry.Point{Lon: x.Lon, Lat: x.Lat})
	}
	changed := make([]bool, len(fixes))
	water := 0
	for range 10 {
		fixes = f.Step(time.Minute, fixes[:0])
		for i, x := range fixes {
			now := o.of(geometry.Point{Lon: x.Lon, Lat: x.Lat})
			if len(now) == 0 {
				water++
			} else if len(first[i]) == 0 || now[0] != first[i][0] {
				changed[i] = true
			}
		}
	}
	n := 0
	for _, x := range changed {
		if x {
			n++
		}
	}
	t.Logf("%d of %d changed district; %.1f %% of fixes over water", n, len(changed), float64(water)/float64(10*len(changed))*100)
	if n < len(changed)*3/4 {
		t.Errorf("only %d of %d vehicles changed district in ten minutes", n, len(changed))
	}
	if water > len(changed) {
		t.Errorf("%d of %d fixes over water", water, 10*len(changed))
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	f := cityOf(t, 1).Fleet()
	dst := make([]Fix, 0, len(f.vehicles))
	if n := testing.AllocsPerRun(20, func() { dst = f.Step(time.Second, dst[:0]) }); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}

func BenchmarkStep(b *testing.B) {
	f := New(Config{Seed: 1}).Fleet()
	dst := make([]Fix, 0, len(f.vehicles))
	for b.Loop() {
		dst = f.Step(time.Second, dst[:0])
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Config{Seed: 1})
	}
}

func BenchmarkRoutes(b *testing.B) {
	c := New(Config{Seed: 1})
	for b.Loop() {
		newRoutes(c.streets, stream(1, "routes"))
	}
}
