package index

import (
	"math"

	"github.com/tidwall/rtree"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

const (
	// maxZoom is fence.MaxZoom: the level of the tiles that all others are made of.
	maxZoom = 23

	// maxCells is how many tiles or cells a fence may take; it is listed by coarser ones rather.
	maxCells = 4096

	// tilePad in degrees, a tenth of a metre: a box that comes so near to a tile covers it. The
	// tile function is monotone, so that a box covers the tiles of its points without it.
	tilePad = 1e-6
)

// tile is the tile of a point at maxZoom: the world is 2^23 by 2^23 tiles, each 360/2^23
// degrees of longitude by 180/2^23 of latitude. Each step of the computation is monotone, and
// so is the whole: p west of q, or level with it, never has a tile to the east of q's. A tile
// at a coarser level is the same with bits shifted out. What is beyond the world is in the
// tiles at its border.
func tile(lon, lat float64) (x, y uint32) {
	return tileAlong((lon + 180) / 360), tileAlong((lat + 90) / 180)
}

func tileAlong(t float64) uint32 {
	const n = 1 << maxZoom
	return uint32(min(max(math.Floor(t*n), 0), n-1))
}

// tileCode is the code of the cell that a tile at maxZoom is: bits of y and x in turn.
func tileCode(x, y uint32) uint64 {
	return (spread(x) | spread(y)<<1) << (2*(quadDepth-maxZoom) + 1)
}

// spread puts a zero between the bits.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// tileRange is a box in tiles at maxZoom, with its border.
type tileRange struct{ x0, y0, x1, y1 uint32 }

func tilesOf(b geometry.Box) tileRange {
	var t tileRange
	t.x0, t.y0 = tile(b.MinLon-tilePad, b.MinLat-tilePad)
	t.x1, t.y1 = tile(b.MaxLon+tilePad, b.MaxLat+tilePad)
	return t
}

// count is the number of tiles at the zoom level.
func (t tileRange) count(zoom int) int {
	s := maxZoom - zoom
	return int(t.x1>>s-t.x0>>s+1) * int(t.y1>>s-t.y0>>s+1)
}

// tileZoom is the level at which the fence is listed: zoom, or the first coarser one at which
// its boxes cover at most maxCells tiles.
func tileZoom(e *Entry, zoom int) int {
	for ; zoom > 0; zoom-- {
		n := 0
		for _, b := range e.boxes {
			n += tilesOf(b).count(zoom)
		}
		if n <= maxCells {
			break
		}
	}
	return zoom
}

// eachTile calls f for each part and the cells that its box covers. Four tiles that are all
// the children of one are that one: the lists of the coarser cell are asked anyway.
func eachTile(e *Entry, zoom int, f func(cell, uint32, bool)) {
	zoom = tileZoom(e, zoom)
	s := maxZoom - zoom
	for i, b := range e.boxes {
		t := tilesOf(b)
		t = tileRange{t.x0 >> s, t.y0 >> s, t.x1 >> s, t.y1 >> s}
		t.cover(0, 0, 0, zoom, func(x, y uint32, level int) {
			up := maxZoom - level
			f(cell{0, tileCode(x<<up, y<<up), level}, uint32(i), false)
		})
	}
}

// cover divides the tile x, y of a level until what it has is all in the range, which is
// given at level zoom.
func (t tileRange) cover(x, y uint32, level, zoom int, f func(x, y uint32, level int)) {
	s := zoom - level
	x0, y0 := x<<s, y<<s
	x1, y1 := x0+1<<s-1, y0+1<<s-1
	switch {
	case x1 < t.x0 || x0 > t.x1 || y1 < t.y0 || y0 > t.y1:
	case t.x0 <= x0 && x1 <= t.x1 && t.y0 <= y0 && y1 <= t.y1:
		f(x, y, level)
	default:
		for i := range uint32(4) {
			t.cover(2*x+i&1, 2*y+i>>1, level+1, zoom, f)
		}
	}
}

// tiles are the settings of an index that lists each part in the tiles that its box covers.
func tiles(o Options) quadSettings {
	return quadSettings{
		kind: o.Kind, rule: o.Rule,
		locate: func(p geometry.Point) (root int, code uint64) { return 0, tileCode(tile(p.Lon, p.Lat)) },
		cover:  func(e *Entry, add func(cell, uint32, bool)) { eachTile(e, o.Zoom, add) },
	}
}

func NewQTreeWriter(o Options) Writer { return &quadWriter[items]{quadSettings: tiles(o)} }

func NewQRTreeWriter(o Options) Writer { return &quadWriter[itemTree]{quadSettings: tiles(o)} }

func (l items) Find(dst []geojson.Ref, p geometry.Point, r geometry.Rule) []geojson.Ref {
	for i := range l {
		it := &l[i]
		if it.inside || it.entry.boxes[it.part].Contains(p) && it.entry.parts[it.part].Decide(r, p) {
			dst = append(dst, it.entry.Ref)
		}
	}
	return dst
}

// treeFrom is the length at which a list becomes an R-tree: one node of it holds 64.
const treeFrom = 64

// itemTree lists parts, in an R-tree once there are many.
type itemTree struct {
	few  items
	tree *rtree.RTreeG[cellItem]
}

func (l itemTree) size() int {
	if l.tree != nil {
		return l.tree.Len()
	}
	return len(l.few)
}

func (l itemTree) clone() itemTree {
	if l.tree != nil {
		return itemTree{tree: l.tree.Copy()}
	}
	return itemTree{few: l.few.clone()}
}

func (l itemTree) with(it cellItem) itemTree {
	if l.tree == nil && len(l.few) < treeFrom {
		return itemTree{few: l.few.with(it)}
	}
	if l.tree == nil {
		l.tree = new(rtree.RTreeG[cellItem])
		for _, it := range l.few {
			l.insert(it)
		}
		l.few = nil
	}
	l.insert(it)
	return l
}

func (l itemTree) insert(it cellItem) {
	b := it.entry.boxes[it.part]
	l.tree.Insert([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, it)
}

func (l itemTree) without(old *Entry) itemTree {
	if l.tree == nil {
		return itemTree{few: l.few.without(old)}
	}
	for i, b := range old.boxes {
		l.tree.Delete([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, cellItem{entry: old, part: uint32(i)})
	}
	return l
}

func (l itemTree) Find(dst []geojson.Ref, p geometry.Point, r geometry.Rule) []geojson.Ref {
	if l.tree == nil {
		return l.few.Find(dst, p, r)
	}
	at := [2]float64{p.Lon, p.Lat}
	l.tree.Search(at, at, func(_, _ [2]float64, it cellItem) bool {
		if it.entry.parts[it.part].Decide(r, p) {
			dst = append(dst, it.entry.Ref)
		}
		return true
	})
	return dst
}
