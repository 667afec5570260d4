package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/subjects"
	"paddock/internal/platform/views"
	"paddock/internal/sampling"
)

// openOn opens a pipeline on a journal, with a catalog of its own that holds the sets of it. For
// an empty journal, fill adds sets to the catalog.
func openOn(t testing.TB, config Config, log journal.Journal, fill func(*fence.Catalog)) (*Pipeline, *fence.Catalog) {
	t.Helper()
	return openWith(t, config, log, fill, nil)
}

// openWith is openOn with a book of rules, which has those of the journal then.
func openWith(t testing.TB, config Config, log journal.Journal, fill func(*fence.Catalog), book *rulebook.Book) (*Pipeline, *fence.Catalog) {
	t.Helper()
	catalog := &fence.Catalog{}
	if _, newest := log.Bounds(); newest == 0 && fill != nil {
		fill(catalog)
	}
	fences, err := views.Open(views.Options{Catalog: catalog, Journal: log, Book: book})
	if err != nil {
		t.Fatal(err)
	}
	config.Journal, config.Fences = log, fences
	p := build(config)
	if err := p.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, catalog
}

// states returns the state of every partition.
func states(t *testing.T, p *Pipeline) (all [][]byte) {
	t.Helper()
	p.state.RLock()
	defer p.state.RUnlock()
	for q, part := range p.partitions {
		state, err := part.Export(nil)
		if err != nil {
			t.Fatalf("partition %d: %v", q, err)
		}
		all = append(all, state)
	}
	return all
}

// stored returns the JSON of all events in a journal.
func stored(t *testing.T, j journal.Journal) (all []string) {
	t.Helper()
	if err := j.Pieces(0, func(piece journal.Piece) error {
		for b := piece.Events; len(b) > 0; {
			r, rest, err := events.ParseRecord(b)
			if err != nil {
				return fmt.Errorf("%v: %w", piece.At, err)
			}
			all = append(all, string(r.JSON.Bytes()))
			b = rest
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReplay plays random inputs to a pipeline with a journal, and now and then goes on with
// another one that is opened on a copy of the journal, as after a crash: with the same state, with
// all events in the journal, each once, and none published again.
func TestReplay(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) { newReplay(t, rand.New(rand.NewPCG(seed, 3))).play() })
	}
}

// replay is a pipeline with a journal in a history with crashes.
type replay struct {
	*testing.T
	*rand.Rand
	catalog *fence.Catalog
	config  Config
	log     *journal.Memory
	pub     *published
	p       *Pipeline
	sent    int
}

func newReplay(t *testing.T, r *rand.Rand) *replay {
	pub := &published{}
	x := &replay{T: t, Rand: r, log: journal.NewMemory(), pub: pub, config: Config{
		Workers: 1 + r.IntN(4), Track: track.Options{TTL: time.Minute, Initial: track.InitialEnter},
		CheckpointEvery: 100, // each partition several times
	}}
	x.p, x.catalog = openOn(t, x.config, x.log, func(c *fence.Catalog) {
		addSet(t, c, "zone", unitSquare("a", 0))
		addSet(t, c, "s", overlapping(1+r.IntN(40))...)
	})
	x.p.Start(x.pub)
	t.Cleanup(func() { x.p.Close(context.Background()) })
	return x
}

func (x *replay) play() {
	for range 100 {
		switch what := x.IntN(20); {
		case what < 12:
			b := &Batch{}
			for range 1 + x.IntN(150/sampling.Slowdown) {
				x.sent++
				q := fix(fmt.Sprint("v", x.IntN(150)), x.IntN(2))
				q.Time = track.MillisOf(time.Now()) + track.Millis(x.sent)
				if x.IntN(3) == 0 {
					q.Props = fmt.Appendf(nil, `{"n":%d}`, x.IntN(9))
					q.Speed = track.Measured(x.Float64())
				}
				b.Positions = append(b.Positions, q)
			}
			if x.IntN(3) == 0 {
				b.Trace = &track.Trace{Parent: fmt.Sprint("00-", x.sent), State: strings.Repeat("a=\"", x.IntN(3))}
			}
			b.Handled = &Handled{Session: [16]byte{byte(x.IntN(5))}, Epoch: uint64(x.sent / 4000), Index: uint32(x.IntN(2)), Count: uint64(x.sent)}
			if err := x.p.TrySubmit(b, nil); err != nil {
				x.Fatal(err)
			}
		case what < 14:
			if _, err := x.p.Remove("f", fmt.Sprint("v", x.IntN(150))); err != nil {
				x.Fatal(err)
			}
		case what < 16:
			zone, _ := x.catalog.Get("zone")
			if _, _, err := zone.Put(unitSquare(fmt.Sprint("z", x.IntN(3)), x.Float64())); err != nil {
				x.Fatal(err)
			}
		case what < 18:
			time.Sleep(time.Duration(x.IntN(40)) * time.Second)
		case what < 19:
			// At any moment, amid work: the events in the journal are the first of all.
			copied := x.log.Clone()
			openOn(x.T, x.config, copied, nil)
			got := stored(x.T, copied)
			synctest.Wait()
			if all := x.pub.json(); len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
				x.Fatalf("%d events of a restored journal are not the first of %d", len(got), len(all))
			}
		default:
			x.crash()
		}
	}
	x.crash()
}

// crash goes on with another pipeline, on a copy of the journal, and perhaps with other options.
func (x *replay) crash() {
	time.Sleep(time.Second) // until no work is postponed
	synctest.Wait()
	copied := x.log.Clone()
	p, catalog := openOn(x.T, x.config, copied, nil)
	if !reflect.DeepEqual(states(x.T, p), states(x.T, x.p)) {
		x.Fatal("another state")
	}
	if got, want := stored(x.T, copied), x.pub.json(); !slices.Equal(got, want) {
		x.Fatalf("%d events are stored, %d were published", len(got), len(want))
	}
	x.p.Close(context.Background())
	if got, want := describeSets(catalog), describeSets(x.catalog); got != want {
		x.Fatalf("the sets are %s, and were %s", got, want)
	}
	x.p, x.catalog, x.log = p, catalog, copied
	p.Start(x.pub)
}

// verify verifies a journal, in which nothing may differ.
func verify(t *testing.T, config Config, log journal.Journal) Verified {
	t.Helper()
	v, err := verified(t, config, log)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func verified(t *testing.T, config Config, log journal.Journal) (Verified, error) {
	t.Helper()
	fences, err := views.Open(views.Options{Catalog: &fence.Catalog{}, Journal: log})
	if err != nil {
		t.Fatal(err)
	}
	config.Journal, config.Fences, config.Track = log, fences, track.Options{}
	return Verify(config, nil)
}

// stopping is a journal that calls stop before its second record.
type stopping struct {
	*journal.Memory
	stop func()
}

func (s stopping) Records(from uint64, f func(uint64, []byte) error) error {
	return s.Memory.Records(from, func(n uint64, b []byte) error {
		if n == from+1 {
			s.stop()
		}
		return f(n, b)
	})
}

// A stop ends the restoring of a state, and the next start restores all of it.
func TestOpenIsStopped(t *testing.T) {
	log := journal.NewMemory()
	p, _ := openOn(t, Config{}, log, nil)
	p.Start(discard{})
	for n := range 50 {
		submit(t, p, &Batch{Positions: []track.Position{fix(fmt.Sprint("v", n), n)}})
	}
	want := states(t, p)
	// As a crash leaves it: no state is saved.
	fences, err := views.Open(views.Options{Catalog: &fence.Catalog{}, Journal: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if _, err := Open(ctx, Config{Journal: stopping{log, stop}, Fences: fences}); !errors.Is(err, context.Canceled) {
		t.Errorf("the stop was ignored: %v", err)
	}
	again, _ := openOn(t, Config{}, log, nil)
	if got := states(t, again); !reflect.DeepEqual(got, want) {
		t.Error("the next start has another state")
	}
	p.Close(context.Background())
}

// A changed TTL counts for objects of which no record tells anything behind the change, after a
// crash as without one.
func TestAChangedTTLBehindACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, config := journal.NewMemory(), Config{Track: track.Options{Initial: track.InitialEnter}}
		first, _ := openOn(t, config, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
		first.Start(discard{})
		submitNow(t, first)
		first.Close(context.Background())

		config.Track.TTL = 10 * time.Minute
		second, _ := openOn(t, config, log, nil)
		second.Start(discard{})
		time.Sleep(time.Second)
		submit(t, second, &Batch{Positions: []track.Position{fix("other", 0)}})
		crashed := log.Clone()
		second.Close(context.Background())

		pub := &published{}
		third, _ := openOn(t, config, crashed, nil)
		third.Start(pub)
		time.Sleep(20 * time.Minute)
		third.Close(context.Background())
		if got, want := pub.texts(t), []string{"exit zone/a v ttl"}; !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

// altered is a journal that shows other contents than it has.
type altered struct {
	*journal.Memory
	piece      func(p *journal.Piece) (keep bool)
	record     func(b []byte) []byte
	checkpoint func(b []byte) []byte
}

func (a altered) Pieces(from uint64, f func(journal.Piece) error) error {
	return a.Memory.Pieces(from, func(p journal.Piece) error {
		if p.Events = bytes.Clone(p.Events); a.piece != nil && !a.piece(&p) {
			return nil
		}
		return f(p)
	})
}

func (a altered) Records(from uint64, f func(uint64, []byte) error) error {
	return a.Memory.Records(from, func(n uint64, b []byte) error {
		if a.record != nil {
			b = a.record(bytes.Clone(b))
		}
		return f(n, b)
	})
}

func (a altered) Checkpoints(q int) ([]journal.Checkpoint, error) {
	all, err := a.Memory.Checkpoints(q)
	for i := range all {
		if a.checkpoint != nil {
			all[i].State = a.checkpoint(bytes.Clone(all[i].State))
		}
	}
	return all, err
}

// Verify finds what differs: an event that is another one, missing or too many, and a state.
func TestVerify(t *testing.T) {
	for _, trimmed := range []bool{false, true} {
		config := Config{Track: track.Options{Initial: track.InitialEnter}, CheckpointEvery: 5}
		if !trimmed {
			config.CheckpointEvery = 1000 // the records from the first one on are kept
		}
		log := journal.NewMemory()
		p, _ := openOn(t, config, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
		p.Start(discard{})
		for n := range 400 {
			b := &Batch{}
			for k := range 3 {
				q := fix(fmt.Sprint("v", (n+k)%70), n)
				q.Time = arrival + track.Millis(n)
				b.Positions = append(b.Positions, q)
			}
			if n%7 != 0 {
				b.Trace = &track.Trace{Parent: "00-trace"}
			}
			submit(t, p, b)
		}
		p.Close(context.Background())
		v := verify(t, config, log)
		if v.Whole == trimmed || v.Events < 3 || v.Checkpoints < 10 {
			t.Errorf("trimmed %v: %+v", trimmed, v)
		}
		last := log.Committed()
		for what, a := range map[string]altered{
			"another event": {piece: func(p *journal.Piece) bool {
				p.Events = bytes.Replace(p.Events, []byte("zone"), []byte("none"), 1)
				return true
			}},
			"a missing one": {piece: func(p *journal.Piece) bool { return p.First+uint64(p.Count) != last.First }},
			"another time":  {piece: func(p *journal.Piece) bool { p.Time++; return true }},
			"a count":       {piece: func(p *journal.Piece) bool { p.Count++; return true }},
			"a state":       {checkpoint: func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
			"a trace":       {record: func(b []byte) []byte { return bytes.Replace(b, []byte("00-trace"), []byte("00-other"), 1) }},
			"a record":      {record: func(b []byte) []byte { return bytes.Replace(b, []byte("v7"), []byte("v8"), 1) }},
		} {
			a.Memory = log
			if _, err := verified(t, config, a); err == nil {
				t.Errorf("trimmed %v: %s was not noticed", trimmed, what)
			}
		}
	}
}

// describeSets lists the sets of a catalog, with their generations and the keys of their fences.
func describeSets(c *fence.Catalog) string {
	var b strings.Builder
	for set := range c.All() {
		fmt.Fprintf(&b, "%s/%d", set.Name(), set.Snapshot().Generation())
		for _, f := range set.Snapshot().All() {
			b.WriteString(" " + f.Key)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// json returns the published events.
func (p *published) json() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.records {
		all = append(all, string(p.records[i].JSON.Bytes()))
	}
	return all
}

// brokenJournal fails from some record on.
type brokenJournal struct {
	*journal.Memory
	left int
}

var errDisk = errors.New("no disk")

func (b *brokenJournal) Append(record []byte) (uint64, error) {
	if b.left--; b.left < 0 {
		return 0, errDisk
	}
	return b.Memory.Append(record)
}

// Positions that a closing pipeline refuses for want of time are in its records: the next start
// applies them, and a replay finds no difference.
func TestRefusedPositionsAreInTheRecords(t *testing.T) {
	log := journal.NewMemory()
	config := Config{Workers: 1, Congested: func() bool { return true }, Track: track.Options{Initial: track.InitialEnter}}
	p, _ := openOn(t, config, log, func(c *fence.Catalog) { addSet(t, c, "s", overlapping(300)...) })
	p.Start(nil)
	var got results
	if err := p.TrySubmit(jumps("v", 400), got.of(0)); err != nil {
		t.Fatal(err)
	}
	submit(t, p, jumps("other", 1))
	over, cancel := context.WithCancel(context.Background())
	cancel()
	p.Close(over)
	if r := got.list()[0]; r.Overloaded == 0 {
		t.Fatalf("nothing was refused: %+v", r)
	}
	again, _ := openOn(t, Config{}, log, nil)
	again.Start(nil)
	later := jumps("v", 1)
	later.Positions[0].Time = track.MillisOf(time.Now()) + 50_000
	submit(t, again, later)
	again.Close(context.Background())
	fences, err := views.Open(views.Options{Catalog: &fence.Catalog{}, Journal: log})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(Config{Journal: log, Fences: fences}, nil); err != nil {
		t.Error(err)
	}
}

// Nothing is applied that is not stored, and the failure is told once.
func TestAJournalThatFails(t *testing.T) {
	pub := &published{}
	var failures []error
	p, _ := openOn(t, Config{Failed: func(err error) { failures = append(failures, err) }}, &brokenJournal{journal.NewMemory(), 1}, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
	p.Start(pub)
	submit(t, p, fixes("v", 0, 2))
	r, err := p.Submit(t.Context(), fixes("v", 2, 3))
	if err != nil || r.Accepted != 0 || len(r.Rejected) != 3 || r.Rejected[0].Reason != "not stored: the journal cannot be written, send it again later" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := p.Submit(t.Context(), fixes("v", 9, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("after that: %v", err)
	}
	p.Close(context.Background())
	if len(failures) != 1 || !errors.Is(failures[0], errDisk) {
		t.Errorf("failures %v", failures)
	}
	if n := pub.count(); n != 1 {
		t.Errorf("%d events", n)
	}
}

// A change of the fences and a removal that are not stored are errors for their callers.
func TestAChangeThatIsNotStored(t *testing.T) {
	for _, what := range []string{"fences", "removal"} {
		p, catalog := openOn(t, Config{}, &brokenJournal{journal.NewMemory(), 1}, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
		p.Start(&published{})
		submit(t, p, fixes("v", 0, 2))
		var err error
		if what == "fences" {
			addSet(t, catalog, "more", unitSquare("b", 3))
			err = p.Settle()
		} else {
			_, err = p.Remove("f", "v")
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("%s: error %v", what, err)
		}
		p.Close(context.Background())
	}
}

// With an interval, positions are acknowledged at once, and are durable, applied and published
// after it. A crash before that loses them, and nothing else.
func TestAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pub, log := &published{}, journal.NewMemory()
		config := Config{Interval: 50 * time.Millisecond, Track: track.Options{Initial: track.InitialEnter}}
		p, _ := openOn(t, config, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
		p.Start(pub)
		synctest.Wait()
		_, before := log.Bounds()
		b := fixes("v", 1, 3)
		b.Rejected = []Rejection{{Index: 9, Reason: "bad"}}
		if r, err := p.Submit(t.Context(), b); err != nil || r.Accepted != 3 || len(r.Rejected) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		answered := false
		if err := p.TrySubmit(fixes("w", 1, 1), func(r Result) { answered = r.Accepted == 1 }); err != nil || !answered {
			t.Errorf("answered %v, %v", answered, err)
		}
		if _, now := log.Bounds(); now != before || pub.count() > 0 {
			t.Errorf("%d records, %d events at once", now-before, pub.count())
		}
		crashed := log.Clone()
		time.Sleep(config.Interval)
		synctest.Wait()
		if _, now := log.Bounds(); now != before+1 || pub.count() != 4 {
			t.Errorf("%d records, %d events after the interval", now-before, pub.count())
		}
		if other, _ := openOn(t, config, crashed, nil); len(stored(t, crashed)) > 0 {
			t.Errorf("%d events after a crash", len(stored(t, crashed)))
		} else if _, ok := other.Object("f", "v"); ok {
			t.Error("an object after a crash")
		}
		if _, err := p.Submit(t.Context(), fixes("last", 1, 1)); err != nil {
			t.Error(err)
		}
		p.Close(t.Context()) // applies what was acknowledged
		if other, _ := openOn(t, config, log, nil); len(stored(t, log)) != 5 {
			t.Errorf("%d events", len(stored(t, log)))
		} else if n := len(other.sessions); n > 0 {
			t.Errorf("%d sessions", n)
		}
		if _, err := p.Submit(t.Context(), fixes("late", 1, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// A removal comes behind the positions that were acknowledged before it, however many, and however
// they are divided into records.
func TestRemovalBehindAcknowledgedPositions(t *testing.T) {
	for _, tc := range []struct {
		count, step int // with a step of 1 each position is an event, so that most are held
	}{{1, 2}, {maxRecord + 1, 2}, {2000, 1}} {
		p, _ := newPipeline(t, &published{}, Config{Interval: time.Hour, Track: track.Options{Initial: track.InitialEnter}})
		b := &Batch{}
		for n := range tc.count {
			b.Positions = append(b.Positions, fix("v", tc.step*n))
		}
		submit(t, p, b)
		if removed, err := p.Remove("f", "v"); err != nil || !removed {
			t.Errorf("%+v: removed %v, %v", tc, removed, err)
		}
		if o, ok := p.Object("f", "v"); ok || p.Postponed() > 0 {
			t.Errorf("%+v: %+v is there, or is still to come", tc, o)
		}
	}
}

// inputs are records of every shape.
func inputs() (all []*input) {
	all = append(all, &input{at: 5}, &input{at: -1, stepping: 1<<63 | 1, view: []byte{}, options: []byte("{}")}, &input{view: []byte("v"), removals: []removal{{fleet: "f", id: "é"}, {}}, handled: []Handled{{}, {[16]byte{1, 2}, 1 << 40, 3, 99}}})
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		in := &input{at: track.Millis(r.Int64N(2e12))}
		for range r.IntN(20) {
			p := track.Position{Fleet: "default", ID: fmt.Sprint(r.Uint32()), Arrived: in.at, Time: in.at - track.Millis(r.IntN(1e6))}
			p.Lon, p.Lat = float64(r.IntN(36e8))/1e7-180, r.Float64()*180-90
			if r.IntN(2) == 0 {
				p.Lat = float64(r.IntN(18e8))/1e7 - 90
			}
			if r.IntN(2) == 0 {
				p.Accuracy, p.Heading, p.Props = track.Measured(r.Float64()), track.Measured(3), []byte(`{"a":1}`)
				p.Altitude = track.Measured(-r.Float64())
			}
			in.positions = append(in.positions, p)
		}
		all = append(all, in)
		if n := len(in.positions); n > 2 {
			traces := *in
			traces.traces = []traced{{0, 1, track.Trace{Parent: "p"}}, {1, n - 1, track.Trace{Parent: "q", State: "s=1"}}}
			all = append(all, &traces)
		}
	}
	return all
}

func encodeInput(in *input) []byte {
	b := binary.AppendUvarint(appendInput(nil, in), uint64(len(in.positions)))
	for i := range in.positions {
		b = appendPosition(b, &in.positions[i], in.at)
	}
	return appendTraces(b, in.traces)
}

func TestStoredInputs(t *testing.T) {
	for _, in := range inputs() {
		b := encodeInput(in)
		if got, err := parseInput(b); err != nil || !reflect.DeepEqual(got, in) {
			t.Fatalf("%+v, %v\nwant %+v", got, err, in)
		}
		for n := range b {
			if _, err := parseInput(b[:n]); err == nil {
				t.Fatalf("%d of %d bytes were taken", n, len(b))
			}
		}
	}
}

func FuzzParseInput(f *testing.F) {
	for _, in := range inputs() {
		f.Add(encodeInput(in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := parseInput(b)
		if err != nil {
			return
		}
		if again, err := parseInput(encodeInput(in)); err != nil || !bytes.Equal(encodeInput(again), encodeInput(in)) {
			t.Errorf("%+v is stored as another one: %v", in, err)
		}
	})
}

// A record that another reader needs stays in the journal.
func TestNeededRecordsStay(t *testing.T) {
	log := journal.NewMemory()
	needed := uint64(3)
	p, _ := openOn(t, Config{CheckpointEvery: 1, Needed: func() uint64 { return needed }}, log, nil)
	p.Start(&published{})
	defer p.Close(context.Background())
	send := func() (oldest uint64) {
		for n := range 4 * subjects.Partitions {
			at := track.Millis(n + 1)
			if _, err := p.Submit(t.Context(), &Batch{Positions: []track.Position{{Fleet: "f", ID: fmt.Sprint(n), Time: at}}}); err != nil {
				t.Fatal(err)
			}
		}
		oldest, _ = log.Bounds()
		return oldest
	}
	if oldest := send(); oldest != needed {
		t.Errorf("the oldest record is %d", oldest)
	}
	needed = math.MaxUint64
	if oldest := send(); oldest < 2*subjects.Partitions {
		t.Errorf("the oldest record is %d", oldest)
	}
}

// A partition that has postponed work at its turn is saved as soon as it is done, before others
// have their next turn.
func TestCheckpointAfterPostponedWork(t *testing.T) {
	log := journal.NewMemory()
	p, catalog := openOn(t, Config{CheckpointEvery: 1}, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
	p.Start(&published{})
	defer p.Close(context.Background())
	send := func(positions ...track.Position) {
		t.Helper()
		if _, err := p.Submit(t.Context(), &Batch{Positions: positions}); err != nil {
			t.Fatal(err)
		}
	}
	var many []track.Position // in one partition
	for n := 0; len(many) < 2000; n++ {
		if q := fix(fmt.Sprint(n), 1); subjects.Partition(q.Fleet, q.ID) == 1 {
			many = append(many, q)
		}
	}
	send(many...)
	saved := func(q int) uint64 {
		if states, err := log.Checkpoints(q); err == nil && len(states) > 0 {
			return states[0].Number
		}
		return 0
	}
	for n := 0; saved(1) == 0 || saved(0) < saved(1); n++ { // until the turn is that partition's
		if n == 3*subjects.Partitions {
			t.Fatalf("in %d records no turn of all partitions", n)
		}
		send(fix("other", 0))
	}
	zone, _ := catalog.Get("zone")
	if _, _, err := zone.Put(unitSquare("b", 0)); err != nil {
		t.Fatal(err)
	}
	if err := p.cfg.Fences.Stage(); err != nil {
		t.Fatal(err)
	}
	_, changed := log.Bounds()
	send(fix("other", 0)) // takes the change at the partition's turn
	for p.partitions[1].due.Load() == dueNow {
		send(fix("other", 0))
	}
	send(fix("other", 0))
	if at := saved(1); at <= changed {
		t.Errorf("the checkpoint is of record %d, from before the change behind record %d", at, changed)
	}
}
