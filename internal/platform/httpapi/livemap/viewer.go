// Package livemap makes the pictures of the live feed: which objects one dashboard sees, by its
// view, its filter and its key, in frames of a bounded size.
//
// Up to 5,000 objects are sent one by one. More of them would be a blot on a screen, and slow to
// draw, so a client that can show cells gets the number of objects in each square of a grid
// instead.
package livemap

import (
	"maps"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/keyring"
)

const (
	// mostDots bounds the objects of a frame for clients without cells.
	mostDots = 20_000
	// Above crowded objects a frame has cells, until there are no more than sparse again: a number
	// near the bound does not switch back and forth.
	crowded = 5_000
	sparse  = 4_000
	// cellsEvery is the interval of frames with cells while the client asks for nothing else.
	cellsEvery = time.Second
	// At most 2*n+sparedNames names are kept after a frame of n objects, so that few frames search
	// for names to forget.
	sparedNames = 1024
)

// Objects is where the objects are: an ingest.Pipeline.
type Objects interface {
	Names(dst []ingest.Named, handles []uint32) []ingest.Named
	Removed() uint64
	Dot(fleet, id string) (track.Dot, bool)
}

// Object names an object.
type Object struct {
	Fleet string `json:"fleet"`
	ID    string `json:"id"`
}

// Request changes what a viewer sees. Absent fields change nothing.
type Request struct {
	View    *[4]float64 `json:"view"`    // west, south, east, north; it may cross the antimeridian
	Objects *Filter     `json:"objects"` // selects objects
	Cell    *int        `json:"cell"`    // level of the cells that the client can show, at most MaxCell; below 0: it shows none
	Single  *Object     `json:"single"`  // sent on its own beside cells
}

// Viewer is what one dashboard sees. It is not safe for concurrent use.
type Viewer struct {
	objects Objects
	grant   *keyring.Grant

	view   *[4]float64 // nil: the whole world
	match  matcher
	cell   int // below 0: the client shows no cells
	single Object

	known     map[uint32]uint64 // handles with names at the client: the last frame with each
	removed   uint64            // removed objects when the names were sent
	verdicts  []verdict         // by handle; 0 is not known yet
	forgotten uint64            // removed objects when the verdicts began
	frames    uint64            // frames of objects so far
	packed    bool              // the last frame had cells
	due       time.Time

	dots         []track.Dot
	frame        []byte
	seen, silent int
}

// verdict is what the key and the filter say about the name of an object. It is stored only if the
// key or the filter depends on names: one byte for each object.
type verdict uint8

const (
	judged verdict = 1 << iota
	permitted
	chosen
)

// NewViewer returns a viewer of the whole world, as far as the key permits.
func NewViewer(objects Objects, grant *keyring.Grant) *Viewer {
	return &Viewer{objects: objects, grant: grant, cell: -1, known: map[uint32]uint64{}}
}

// Obey changes what the viewer sees. The next frame is due at once.
func (v *Viewer) Obey(r *Request) {
	if r.View != nil {
		v.view = r.View
	}
	if r.Objects != nil {
		v.match, v.verdicts = r.Objects.matcher(), nil
	}
	if r.Cell != nil {
		v.cell = min(*r.Cell, MaxCell)
	}
	if r.Single != nil {
		v.single = *r.Single
	}
	v.due = time.Time{}
}

// Counts returns the number of objects in the view that the key permits, whatever the filter, and
// of the silent ones among them, as of the last frame.
func (v *Viewer) Counts() (objects, silent int) { return v.seen, v.silent }

// FiltersStates reports whether the viewer sees objects in some states only.
func (v *Viewer) FiltersStates() bool { return len(v.match.states) > 0 }

// Draw returns the frame for the objects all, as they were at the time at, and the names that the
// client needs first. The frame is nil if the client shows cells and none is due. It is valid until
// the next call.
func (v *Viewer) Draw(at time.Time, all []track.Dot) (names []ingest.Named, frame []byte) {
	shown := v.look(all)
	if v.packed = v.cell >= 0 && shown > v.bound(); v.packed {
		if at.Before(v.due) {
			return nil, nil
		}
		v.due = at.Add(cellsEvery)
		cells := gather(all, v.shows, v.cell)
		v.alone(all)
		names = v.names()
		v.frame = appendCells(v.frame[:0], at, cells, v.dots)
		return names, v.frame
	}
	v.due = time.Time{}
	thinned := shown > mostDots
	if thinned {
		v.thin(all, shown)
	}
	names = v.names()
	v.frame = appendDots(v.frame[:0], at, v.dots, thinned)
	return names, v.frame
}

// bound returns the number of objects above which a frame has cells.
func (v *Viewer) bound() int {
	if v.packed {
		return sparse
	}
	return crowded
}

// look counts the objects in the view that the key permits, returns how many of them the filter
// selects, and sets dots to the first ones of these.
func (v *Viewer) look(all []track.Dot) (shown int) {
	if v.byName() {
		v.judge(all)
	}
	v.seen, v.silent, v.dots = 0, 0, v.dots[:0]
	for i := range all {
		d := &all[i]
		if !inView(v.view, d) || !v.has(d, permitted) {
			continue
		}
		v.seen++
		if d.State == track.Silent {
			v.silent++
		}
		if !v.has(d, chosen) || !v.match.state(d.State) {
			continue
		}
		if shown++; shown <= mostDots {
			v.dots = append(v.dots, *d)
		}
	}
	return shown
}

// shows reports whether an object is in the view, permitted and selected.
func (v *Viewer) shows(d *track.Dot) bool {
	return inView(v.view, d) && v.has(d, permitted|chosen) && v.match.state(d.State)
}

// byName reports whether fleets and ids matter.
func (v *Viewer) byName() bool { return v.grant.OfFleets() || v.match.named() }

// has reports whether an object in the view has these verdicts.
func (v *Viewer) has(d *track.Dot, wanted verdict) bool {
	return !v.byName() || v.verdicts[d.Handle]&wanted == wanted
}

// judgedAtOnce bounds the names in memory while verdicts are made.
const judgedAtOnce = 4096

// judge completes the verdicts on the objects in the view.
func (v *Viewer) judge(all []track.Dot) {
	if n := v.objects.Removed(); n != v.forgotten { // handles may have been reused
		v.forgotten = n
		clear(v.verdicts)
	}
	unknown := make([]uint32, 0, judgedAtOnce)
	for i := range all {
		d := &all[i]
		if !inView(v.view, d) {
			continue
		}
		if more := int(d.Handle) + 1 - len(v.verdicts); more > 0 {
			v.verdicts = append(v.verdicts, make([]verdict, more)...)
		}
		if v.verdicts[d.Handle] == 0 {
			unknown = append(unknown, d.Handle)
		}
		if len(unknown) == judgedAtOnce {
			v.judgeThese(unknown)
			unknown = unknown[:0]
		}
	}
	v.judgeThese(unknown)
}

func (v *Viewer) judgeThese(handles []uint32) {
	for _, n := range v.objects.Names(nil, handles) {
		of := judged
		if v.grant.Fleet(n.Fleet) {
			of |= permitted
		}
		if v.match.name(n.Fleet, n.ID) {
			of |= chosen
		}
		v.verdicts[n.Handle] = of
	}
}

// alone sets dots to the object that is sent on its own, if it is shown.
func (v *Viewer) alone(all []track.Dot) {
	v.dots = v.dots[:0]
	if v.single == (Object{}) {
		return
	}
	d, ok := v.objects.Dot(v.single.Fleet, v.single.ID)
	if !ok {
		return
	}
	for i := range all {
		if all[i].Handle == d.Handle && v.shows(&all[i]) {
			v.dots = append(v.dots, all[i])
			return
		}
	}
}

// names returns the names of the handles that the previous frame did not have. An object that
// returns to the view is named again, so that neither side remembers all objects that were ever in
// view.
func (v *Viewer) names() []ingest.Named {
	v.frames++
	if n := v.objects.Removed(); n != v.removed { // handles may have been reused
		v.removed = n
		clear(v.known)
	}
	var unknown []uint32
	for i := range v.dots {
		h := v.dots[i].Handle
		if last, ok := v.known[h]; ok && last == v.frames-1 {
			v.known[h] = v.frames
		} else {
			unknown = append(unknown, h)
		}
	}
	var names []ingest.Named
	if len(unknown) > 0 {
		names = v.objects.Names(make([]ingest.Named, 0, len(unknown)), unknown)
	}
	for i := range names {
		v.known[names[i].Handle] = v.frames
	}
	if len(v.known) > 2*len(v.dots)+sparedNames {
		maps.DeleteFunc(v.known, func(_ uint32, last uint64) bool { return last != v.frames })
	}
	return names
}

// inView reports whether a dot lies in a view, which may cross the antimeridian.
func inView(view *[4]float64, d *track.Dot) bool {
	if view == nil {
		return true
	}
	west, south, east, north := view[0], view[1], view[2], view[3]
	if d.Point.Lat < south || d.Point.Lat > north {
		return false
	}
	if west <= east {
		return d.Point.Lon >= west && d.Point.Lon <= east
	}
	return d.Point.Lon >= west || d.Point.Lon <= east
}

// thin sets dots to about mostDots of the shown objects, the same ones from frame to frame.
func (v *Viewer) thin(all []track.Dot, shown int) {
	every := uint32((shown + mostDots - 1) / mostDots)
	v.dots = v.dots[:0]
	for i := range all {
		if d := &all[i]; d.Handle%every == 0 && len(v.dots) < mostDots && v.shows(d) {
			v.dots = append(v.dots, *d)
		}
	}
}
