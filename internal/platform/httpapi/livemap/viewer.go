// Package livemap makes the pictures of the live feed: which objects one dashboard sees, by its
// view, its filter and its key, in frames of a bounded size.
//
// Up to 5,000 objects are sent one by one. More of them would be a blot on a screen, and slow to
// draw, so a client that can show cells gets the number of objects in each square of a grid
// instead.
package livemap

import (
	"maps"
	"slices"
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
	RemovedSince(n uint64) (handles []uint32, known bool)
	Dot(fleet, id string) (track.Dot, bool)
}

// Sample is all objects as they were at a time.
type Sample struct {
	At      time.Time
	Dots    []track.Dot // never changed: many viewers hold it
	Removed uint64      // objects removed before that
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

	known    map[uint32]uint64 // handles with names at the client: the last frame with each
	verdicts []verdict         // by handle; 0 is not known yet
	removed  uint64            // removed objects behind which names and verdicts may have ended
	frames   uint64            // frames of objects so far
	packed   bool              // the last frame had cells
	due      time.Time

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

// Draw returns the frame for a sample, and the names that the client needs first. The frame is nil
// if the client shows cells and none is due, or if very many objects were removed since the sample.
// It is valid until the next call.
func (v *Viewer) Draw(s Sample) (names []ingest.Named, frame []byte) {
	v.forget(s.Removed)
	shown, ok := v.look(&s)
	if !ok {
		return nil, nil
	}
	if v.packed = v.cell >= 0 && shown > v.bound(); v.packed {
		if s.At.Before(v.due) {
			return nil, nil
		}
		cells := gather(s.Dots, v.shows, v.cell)
		v.alone(s.Dots)
		if names, ok = v.names(&s); !ok {
			return nil, nil
		}
		v.due = s.At.Add(cellsEvery)
		v.frame = appendCells(v.frame[:0], s.At, cells, v.dots)
		return names, v.frame
	}
	v.due = time.Time{}
	thinned := shown > mostDots
	if thinned {
		v.thin(s.Dots, shown)
	}
	if names, ok = v.names(&s); !ok {
		return nil, nil
	}
	v.frame = appendDots(v.frame[:0], s.At, v.dots, thinned)
	return names, v.frame
}

// forget drops what is known of the handles of removed objects: other objects may have them. The
// next call begins behind the number removed, that of the sample: the verdicts hide what was
// removed since.
func (v *Viewer) forget(removed uint64) {
	handles, ok := v.objects.RemovedSince(v.removed)
	v.removed = removed
	if !ok {
		clear(v.known)
		clear(v.verdicts)
	}
	for _, h := range handles {
		delete(v.known, h)
		v.judgeAs(h, 0)
	}
}

// judgeAs changes the verdict on a handle that has one.
func (v *Viewer) judgeAs(handle uint32, of verdict) {
	if int(handle) < len(v.verdicts) {
		v.verdicts[handle] = of
	}
}

// bound returns the number of objects above which a frame has cells.
func (v *Viewer) bound() int {
	if v.packed {
		return sparse
	}
	return crowded
}

// look counts the objects in the view that the key permits, returns how many of them the filter
// selects, and sets dots to the first ones of these. It reports false if the names of the sample
// are not known any more.
func (v *Viewer) look(s *Sample) (shown int, ok bool) {
	all := s.Dots
	if v.byName() {
		v.judge(all)
		// What was removed since may have been judged by the name of the next object.
		removed, known := v.objects.RemovedSince(s.Removed)
		if !known {
			return 0, false
		}
		for _, h := range removed {
			v.judgeAs(h, judged)
		}
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
	return shown, true
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
// view. Objects that were removed since the sample leave the frame: the names may be those of the
// next objects with their handles. It reports false if these are not known.
func (v *Viewer) names(s *Sample) (names []ingest.Named, ok bool) {
	v.frames++
	var unknown []uint32
	for i := range v.dots {
		h := v.dots[i].Handle
		if last, ok := v.known[h]; ok && last == v.frames-1 {
			v.known[h] = v.frames
		} else {
			unknown = append(unknown, h)
		}
	}
	if len(unknown) > 0 {
		names = v.objects.Names(make([]ingest.Named, 0, len(unknown)), unknown)
	}
	removed, ok := v.objects.RemovedSince(s.Removed)
	if !ok {
		return nil, false
	}
	if len(removed) > 0 {
		slices.Sort(removed)
		of := func(h uint32) bool { _, found := slices.BinarySearch(removed, h); return found }
		v.dots = slices.DeleteFunc(v.dots, func(d track.Dot) bool { return of(d.Handle) })
		names = slices.DeleteFunc(names, func(n ingest.Named) bool { return of(n.Handle) })
	}
	for i := range names {
		v.known[names[i].Handle] = v.frames
	}
	if len(v.known) > 2*len(v.dots)+sparedNames {
		maps.DeleteFunc(v.known, func(_ uint32, last uint64) bool { return last != v.frames })
	}
	return names, true
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
