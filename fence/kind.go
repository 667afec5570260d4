package fence

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"paddock/fence/internal/cellmap"
	"paddock/fence/internal/index"
)

// Kind names a way to index a set.
type Kind string

const (
	// KindBrute tests every edge of every fence: the reference for all others.
	KindBrute Kind = "brute"
	// KindBBox tests the parts whose boxes hold the point, one box after the other.
	KindBBox Kind = "bbox"
	// KindCity tests the fences within the parents that hold the point (Options.Parents), and
	// those within none.
	KindCity Kind = "city"
	// KindCityBBox is KindCity with a look at the boxes first.
	KindCityBBox Kind = "city-bbox"
	// KindQTree tests the parts whose boxes meet the point's tile, in a tree of tiles.
	KindQTree Kind = "qtree"
	// KindQRTree is KindQTree with an R-tree in each tile that many parts meet.
	KindQRTree Kind = "qrtree"
	// KindRTree tests the parts whose boxes hold the point, found in an R-tree.
	KindRTree Kind = "rtree"
	// KindS2 keeps for each part the S2 cells that it covers. A point in a cell within the part
	// needs no test; in a cell on its boundary, the part is tested.
	KindS2 Kind = "s2"
	// KindCellmap is an adaptive grid. Each cell holds the fences that contain it, and the edges
	// that go through it.
	KindCellmap Kind = "cellmap"
	// KindAuto is KindBBox for small sets and DefaultKind for others, as they grow and shrink.
	KindAuto Kind = "auto"

	// DefaultKind is what the zero Options choose.
	DefaultKind = KindCellmap
)

const (
	// DefaultZoom is what zero Options.Zoom means: tiles of some 2 km, S2 cells of some 600 m.
	DefaultZoom = 14
	// MaxZoom is the deepest level: tiles of 2 to 5 m, S2 cells of 1 m. The padding of a
	// millionth of a degree is chosen for cells that are no smaller.
	MaxZoom = 23
	// ZoomWorld stands in Options.Zoom for level 0, which divides nothing.
	ZoomWorld = -1
)

var (
	// ErrKind is wrapped by the error for a kind that does not exist.
	ErrKind = errors.New("unknown kind of index")
	// ErrZoom is wrapped by the error for a zoom level that does not exist.
	ErrZoom = errors.New("no such zoom level")
)

// registry lists the kinds in the order in which Kinds shows them. The conformance suite
// runs over every one. What newWriter gets has been checked.
var registry []registration

type registration struct {
	kind      Kind
	newWriter func(index.Options) index.Writer
}

// The list is filled here since auto looks into it.
func init() {
	registry = []registration{
		{KindBrute, index.NewBruteWriter},
		{KindBBox, index.NewBBoxWriter},
		{KindCity, index.NewCityWriter},
		{KindCityBBox, index.NewCityBBoxWriter},
		{KindQTree, index.NewQTreeWriter},
		{KindQRTree, index.NewQRTreeWriter},
		{KindRTree, index.NewRTreeWriter},
		{KindS2, index.NewS2Writer},
		{KindCellmap, func(o index.Options) index.Writer { return cellmap.NewWriter(o) }},
		{KindAuto, newAuto},
	}
}

// Kinds lists the kinds that exist.
func Kinds() []Kind {
	var ks []Kind
	for _, r := range registry {
		ks = append(ks, r.kind)
	}
	return ks
}

// ParseKind gives the kind named s, the default one if s is empty. A name may have underscores
// for hyphens. For an unknown name the error wraps ErrKind and lists the kinds.
func ParseKind(s string) (Kind, error) {
	if s == "" {
		return DefaultKind, nil
	}
	if k := Kind(strings.ReplaceAll(s, "_", "-")); slices.Contains(Kinds(), k) {
		return k, nil
	}
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return "", fmt.Errorf("%w %q: it must be one of %s", ErrKind, s, strings.Join(names, ", "))
}

func newWriter(o index.Options) index.Writer {
	for _, r := range registry {
		if string(r.kind) == o.Kind {
			return r.newWriter(o)
		}
	}
	panic("fence: kind not registered: " + o.Kind) // NewSet has checked it.
}

// newAuto makes the writer of KindAuto.
func newAuto(o index.Options) index.Writer {
	as := func(kind Kind) func() index.Writer {
		o := o
		o.Kind = string(kind)
		return func() index.Writer { return newWriter(o) }
	}
	return cellmap.NewAutoWriter(as(KindBBox), as(DefaultKind))
}

// cellWriterOf is the writer of a cellmap that w is or has, nil if there is none.
func cellWriterOf(w index.Writer) *cellmap.Writer {
	if a, ok := w.(*cellmap.AutoWriter); ok {
		w = a.Current()
	}
	c, _ := w.(*cellmap.Writer)
	return c
}
