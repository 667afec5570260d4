package tiles

import (
	"cmp"
	"context"
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// tolerance is the largest distance of a simplified border from the true one, in units: a quarter
// of a pixel.
const tolerance = pixel / 4

// maxFenceBytes bounds the layer of the fences.
const maxFenceBytes = MaxBytes - maxRestBytes

// The names of the properties in the layers, by number.
const (
	keyKey = iota
	keyName
	keyLarge
)

const (
	keySmall = iota
	keyDropped
)

// candidate is a fence that is large enough to be drawn.
type candidate struct {
	ref  fence.Ref
	span span
}

// Draw returns a tile of a snapshot whose boxes are b. It has at most MaxBytes, and none if there
// is nothing to show. The error is that of ctx.
func Draw(ctx context.Context, s *fence.Snapshot, b *Boxes, t Tile) ([]byte, error) {
	d := &drawing{
		tile: t, bounds: t.bounds(),
		fences: layer{name: "fences", keys: []string{"key", "name", "large"}},
		others: layer{name: "rest", keys: []string{"small", "dropped"}},
	}
	d.fences.value(trueValue())
	candidates := d.choose(ctx, b)
	for i, c := range candidates {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !d.draw(s.Fence(c.ref), c.span) {
			d.drop(candidates[i:])
			break
		}
	}
	d.drawRest()
	return d.others.appendTo(d.fences.appendTo(nil)), ctx.Err()
}

// drawing is a tile under construction.
type drawing struct {
	tile           Tile
	bounds         geometry.Box
	fences, others layer
	rest           rest

	// Memory that is reused for each ring.
	ring, spare []vertex
	grid        []grid
	pen         vertex // where the last piece of a line ended
	simplifier  simplifier
}

// choose returns the fences to draw, the largest first, and adds the others to the rest.
func (d *drawing) choose(ctx context.Context, b *Boxes) []candidate {
	var chosen []candidate
	least := float64(cell)
	if d.tile.Z == MaxZoom {
		least = 0
	}
	b.Walk(d.bounds, func(b geometry.Box, n int) bool {
		s := d.tile.span(b)
		if s.side() >= least {
			return false
		}
		if d.rest.mark(s) {
			d.rest.small += n
		}
		return true
	}, func(r fence.Ref, b geometry.Box) bool {
		if s := d.tile.span(b); s.side() >= least {
			chosen = append(chosen, candidate{r, s})
		} else if d.rest.mark(s) {
			d.rest.small++
		}
		return len(chosen)%256 != 0 || ctx.Err() == nil
	})
	slices.SortFunc(chosen, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.span.area(), a.span.area()), cmp.Compare(a.ref, b.ref))
	})
	return chosen
}

// drop adds fences that did not fit to the rest.
func (d *drawing) drop(left []candidate) {
	for _, c := range left {
		if d.rest.mark(c.span) {
			d.rest.dropped++
		}
	}
}

// draw adds a fence, and reports whether there was room for it.
func (d *drawing) draw(f *fence.Fence, s span) bool {
	l := &d.fences
	for _, part := range f.Geometry {
		d.part(part)
	}
	if f.OnlyCrossed() {
		for _, line := range f.Lines {
			d.line(line)
		}
	}
	if len(l.shape.commands) == 0 && !d.collapsed(f, s) {
		return true
	}
	values, count := len(l.values), l.count
	l.tag(keyKey, stringValue(f.Key))
	if s.side() >= legible {
		if name := NameOf(f.Properties); name != "" && name != f.Key {
			l.tag(keyName, stringValue(name))
		}
	}
	if s.side() >= large {
		l.tagAs(keyLarge, 0)
	}
	const lengths = 16 // of the fields around the tags and the commands
	if l.size()+len(l.tags)+len(l.shape.commands)+lengths > maxFenceBytes {
		l.values, l.count, l.tags = l.values[:values], count, l.tags[:0]
		l.shape.reset()
		return false
	}
	l.add()
	return true
}

// part adds the rings of one part: by convention the first is the outline, and the others are
// holes.
func (d *drawing) part(p geometry.Polygon) {
	for i, r := range p {
		ring := d.cut(r)
		a := area2(ring)
		if a == 0 {
			if i == 0 {
				return
			}
			continue
		}
		// In the format the direction distinguishes an outline from a hole.
		if (a > 0) != (i == 0) {
			slices.Reverse(ring)
		}
		d.fences.shape.ring(ring)
	}
}

// cut returns the part of a ring in the tile: nothing, or at least three vertices.
func (d *drawing) cut(r geometry.Ring) []grid {
	if len(r) < 3 {
		return nil
	}
	d.ring = d.tile.near(d.ring[:0], r, d.bounds)
	d.ring, d.spare = clip(d.ring, d.spare)
	allowed := float64(tolerance)
	if d.tile.Z == MaxZoom {
		allowed = 0
	}
	d.grid = d.grid[:0]
	for _, v := range d.simplifier.simplify(d.ring, allowed) {
		g := grid{int32(math.Round(v.x)), int32(math.Round(v.y))}
		if n := len(d.grid); n == 0 || d.grid[n-1] != g {
			d.grid = append(d.grid, g)
		}
	}
	for n := len(d.grid); n > 1 && d.grid[n-1] == d.grid[0]; n-- {
		d.grid = d.grid[:n-1]
	}
	if len(d.grid) < 3 {
		return nil
	}
	return d.grid
}

// collapsed handles a fence whose rings have vanished at whole units. A tiny fence is drawn as its
// box, so that all fences are visible at the closest zoom. A narrow fence is added to the rest.
// Other fences are not in the tile. It reports whether there is a shape now.
func (d *drawing) collapsed(f *fence.Fence, s span) bool {
	if s.side() < cell {
		west, north := int32(math.Floor(s.west)), int32(math.Floor(s.north))
		east, south := max(west+1, int32(math.Ceil(s.east))), max(north+1, int32(math.Ceil(s.south)))
		d.fences.shape.ring([]grid{{west, north}, {east, north}, {east, south}, {west, south}})
		return true
	}
	marked := false
	for _, part := range f.Geometry {
		if len(part) > 0 && len(part[0]) > 0 {
			marked = d.trace(part[0]) || marked
		}
	}
	if marked {
		d.rest.small++
	}
	return false
}

// trace marks the cells along a ring, and reports whether there are any in the tile.
func (d *drawing) trace(r geometry.Ring) bool {
	d.ring = d.tile.near(d.ring[:0], r, d.bounds)
	d.ring, d.spare = clip(d.ring, d.spare)
	marked := false
	for i, a := range d.ring {
		b := d.ring[(i+1)%len(d.ring)]
		steps := math.Ceil(max(math.Abs(b.x-a.x), math.Abs(b.y-a.y)) / cell)
		for k := 0.0; k < steps; k++ {
			x, y := a.x+(b.x-a.x)*k/steps, a.y+(b.y-a.y)*k/steps
			marked = d.rest.mark(span{x, y, x, y}) || marked
		}
	}
	return marked
}

// area2 returns twice the area of a ring, positive if it runs clockwise on the screen.
func area2(r []grid) int64 {
	var a int64
	for i, g := range r {
		h := r[(i+1)%len(r)]
		a += int64(g.x)*int64(h.y) - int64(h.x)*int64(g.y)
	}
	return a
}

// drawRest adds the layer of the rest.
func (d *drawing) drawRest() {
	r := &d.rest
	if r.small == 0 && r.dropped == 0 {
		return
	}
	r.rectangles(func(x, y, width, height int) {
		west, north := int32(x*cell), int32(y*cell)
		east, south := west+int32(width*cell), north+int32(height*cell)
		d.others.shape.ring([]grid{{west, north}, {east, north}, {east, south}, {west, south}})
	})
	d.others.tag(keySmall, uintValue(r.small))
	d.others.tag(keyDropped, uintValue(r.dropped))
	d.others.add()
}
