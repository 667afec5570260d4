package cellmap

import (
	"slices"
	"unsafe"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// A tile is a square of root cells, tileSide wide, and what has changed in them.
const (
	tileBits  = 2
	tileSide  = 1 << tileBits
	tileCells = tileSide * tileSide
	tilePage  = 64 // tiles whose places are copied together

	// asBuilt stands for a cell of a tile that is as the cellmap has it.
	asBuilt = EntryNode | entryMask
)

// cellPatch has what has changed in a cellmap since it was built: whole root cells, by tiles. It
// is immutable. An edit makes the tiles anew that it touches, and shares all others with the
// patch before; so what is no more leaves nothing behind.
//
// A tile is a cellmap whose directory begins with the entries of its root cells. All else of
// the grid is the same.
type cellPatch struct {
	base   *Map
	across uint32 // tiles in a row of them
	Pages  []*[tilePage]*Map
	Tiles  int   // how many there are
	bytes  int64 // of the tiles
}

func newCellPatch(base *Map) *cellPatch {
	across, rows := (base.W+tileSide-1)/tileSide, (base.H+tileSide-1)/tileSide
	return &cellPatch{base: base, across: across, Pages: make([]*[tilePage]*Map, (across*rows+tilePage-1)/tilePage)}
}

// tile is the one with the number i, nil if nothing has changed there.
func (c *cellPatch) tile(i uint32) *Map {
	if page := c.Pages[i/tilePage]; page != nil {
		return page[i%tilePage]
	}
	return nil
}

// tileOf is the number of the tile of a root cell, and inTile the cell's place in it.
func (c *cellPatch) tileOf(cx, cy uint32) uint32 { return cy>>tileBits*c.across + cx>>tileBits }

func inTile(cx, cy uint32) uint32 { return cy%tileSide<<tileBits | cx%tileSide }

// entry is that of a root cell, and the cellmap that has what it leads to.
func (c *cellPatch) entry(cx, cy uint32) (uint32, *Map) {
	if tile := c.tile(c.tileOf(cx, cy)); tile != nil {
		if e := tile.Dir[inTile(cx, cy)]; e != asBuilt {
			return e, tile
		}
	}
	return c.base.Dir[cy*c.base.W+cx], c.base
}

// append appends the refs of what holds p, which is normalized.
//
// hot: guarded by BenchmarkReplace and TestEditedSetsDoNotAllocate.
func (c *cellPatch) append(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	if !hasUnits(p) {
		return dst
	}
	at, shift := c.base.place(p), c.base.Shift&31
	cx, cy := at.x>>shift, at.y>>shift
	if cx >= c.base.W || cy >= c.base.H {
		return dst
	}
	entry, m := c.entry(cx, cy)
	for entry >= EntryNode {
		shift = (shift - nodeBits) & 31
		child := at.y>>shift&(nodeSide-1)<<nodeBits + at.x>>shift&(nodeSide-1)
		entry = m.Dir[entry&entryMask+child]
	}
	switch {
	case entry >= EntryCell:
		return m.appendRecord(dst, entry&entryMask, p, at.within(shift))
	case entry >= entryOne:
		return append(dst, geojson.Ref(entry&entryMask))
	}
	return m.appendList(dst, entry&entryMask)
}

// longRun is how many points must come one after the other where nothing has changed for a batch
// of them to gain more than it takes to begin one.
const longRun = 64

// appendBatch appends one answer for each point. Long runs of points where nothing has changed
// are left to the cellmap's own way with batches.
//
// hot: guarded by BenchmarkEditedBatch and TestEditedSetsDoNotAllocate.
func (c *cellPatch) appendBatch(dst *index.Answers, lon, lat []float64) {
	for len(lon) > 0 {
		n := 0
		for n < len(lon) && !c.changed(lon[n], lat[n]) {
			n++
		}
		if n >= longRun {
			c.base.appendBatch(dst, lon[:n], lat[:n])
			lon, lat, n = lon[n:], lat[n:], 0
		}
		for i := range min(n+1, len(lon)) {
			p, _ := geometry.Normalize(lon[i], lat[i])
			dst.Refs = c.append(dst.Refs, p)
			dst.Offsets = append(dst.Offsets, uint32(len(dst.Refs)))
		}
		lon, lat = lon[min(n+1, len(lon)):], lat[min(n+1, len(lat)):]
	}
}

// changed says whether a point is in a tile in which something has changed.
func (c *cellPatch) changed(lon, lat float64) bool {
	p, _ := geometry.Normalize(lon, lat)
	if !hasUnits(p) {
		return false
	}
	at, shift := c.base.place(p), c.base.Shift&31
	cx, cy := at.x>>shift, at.y>>shift
	return cx < c.base.W && cy < c.base.H && c.tile(c.tileOf(cx, cy)) != nil
}

// copy gives a patch for put to change.
func (c *cellPatch) copy() *cellPatch {
	return &cellPatch{c.base, c.across, slices.Clone(c.Pages), c.Tiles, c.bytes}
}

// put replaces the tile with the number i, in a copy of before that is not published yet.
func (c *cellPatch) put(before *cellPatch, i uint32, tile *Map) {
	page := &c.Pages[i/tilePage]
	if *page == before.Pages[i/tilePage] {
		copied := new([tilePage]*Map)
		if *page != nil {
			*copied = **page
		}
		*page = copied
	}
	at := &(*page)[i%tilePage]
	if *at == nil {
		c.Tiles++
	} else {
		c.bytes -= tileBytes(*at)
	}
	*at = tile
	c.bytes += tileBytes(tile)
}

// tileBytes is what a tile takes.
func tileBytes(tile *Map) int64 { return tile.bytes() + int64(unsafe.Sizeof(*tile)) }
