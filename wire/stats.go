package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"time"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// Stats holds the counts of a connection since its start, and its present state. All yields it as a
// flat list, under the names that the original perf program had and some more; each field's comment
// begins with its name there.
//
// Once nothing is under way, Tx of one side is Rx of the other.
type Stats struct {
	Tx Traffic // n_tx...
	Rx Traffic // n_rx...

	Flushes    int64 // n_flushes: writes to the socket; over TLS, to its records
	Heartbeats int64 // n_rxbeats: PINGs that have come, not their answers

	// Dropped input and output: posts without a handler, posts that were handled before,
	// posts that found no room here or (TryPost, PostKeyed) at the peer, posts that the end
	// of the connection cut off from their handler, and data of streams that were closed or
	// reset.
	DroppedBytes    int64 // n_dropped
	DroppedMessages int64 // n_mdrops; data that was never read is in bytes only

	Cancels    int64         // n_cancel: CANCEL, both ways
	Resets     int64         // n_reset: RESET, STOP among them, both ways
	Credits    int64         // n_credit: CREDIT, both ways
	Stale      int64         // n_stale: frames that named a slot which was free again
	PostErrors int64         // n_posterr: posts whose handler has failed
	Conflated  int64         // n_conflated: bodies of PostKeyed that a later one replaced
	Stall      time.Duration // n_stall_ns: that posts have waited for room, all callers together

	// RTT is rtt_ns, the shortest round trip of the last 10 to 20 s in which one was
	// measured; 0: none was.
	RTT time.Duration
	// Inflight and Streams are the requests and the streams of both sides that are
	// not over; promoted requests are requests. 0 once the connection has ended, like
	// all that follows.
	Inflight int64 // inflight
	Streams  int64 // streams
	Keyed    int64 // keyed: bodies that PostKeyed holds until the peer has room
	// QueuedBytes is queued_bytes: the bytes that were given to be sent and have not left for the
	// socket, the present write included. Of streams it counts the bytes that wait for their turn
	// or for credit of the connection, not bytes that wait for credit of their own stream.
	QueuedBytes int64
	// OldestUnsent is oldest_unsent_ms: an upper bound on the waiting time of the oldest of these
	// bytes. Corked bytes, and small bytes whose write has not begun, have no age.
	OldestUnsent time.Duration

	// PerFlush is n_flush_0001 to n_flush_2048: element i counts the batches of 2^i to
	// 2^(i+1)-1 frames that were handed to the socket, the last one all larger ones.
	// A batch of posts is one frame.
	PerFlush [histogramBuckets]int64
}

// Traffic is one direction of Stats, named n_tx and n_rx with a suffix. Posts to
// Fins are messages in the sense of the original program; Messages is their sum.
type Traffic struct {
	Posts     int64 // post: bodies, packed ones each
	Requests  int64 // req
	Responses int64 // resp: answers, errors, and decisions about streams
	Starts    int64 // start: streams opened
	Stream    int64 // stream: messages of streams
	Fins      int64 // fin: halves of streams that were ended

	Bytes  int64 // byte: with headers and preface, before TLS
	Frames int64 // frame: of all types
	Errors int64 // err: answers that are errors
}

// Messages is n_tx, n_rx: the sum of the six kinds of messages.
func (t Traffic) Messages() int64 {
	return t.Posts + t.Requests + t.Responses + t.Starts + t.Stream + t.Fins
}

// Stats returns the counters; it takes the connection's lock for a moment. It works on a connection
// that has ended too.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, s := c.m, &c.stats
	both := func(t frame.Type) int64 { return int64(m.Tx.Frames[t] + m.Rx.Frames[t]) }
	st := Stats{
		Tx: trafficOf(&m.Tx), Rx: trafficOf(&m.Rx),
		Flushes: int64(s.flushes), Heartbeats: int64(m.Rx.Frames[frame.PING] - m.Rx.Pongs),
		DroppedBytes:    int64(s.droppedBytes + s.unread + m.Rx.Dropped),
		DroppedMessages: int64(s.dropped + m.Rx.Mdrops),
		Cancels:         both(frame.CANCEL), Resets: both(frame.RESET), Credits: both(frame.CREDIT),
		Stale: int64(m.Rx.Stale), PostErrors: int64(s.rxFailed), Conflated: int64(s.conflated), Stall: s.stalled,
		RTT: c.windows.rtt.Min(),
	}
	st.Tx.Bytes = int64(s.txBytes)
	for i, n := range s.perFlush {
		st.PerFlush[i] = int64(n)
	}
	if !c.closed {
		c.gauges(&st)
	}
	return st
}

// gauges fills in the state of the moment. c.mu is held.
func (c *Conn) gauges(st *Stats) {
	m := c.m
	streams := m.Ours.Streams + m.Theirs.Streams
	st.Inflight, st.Streams, st.Keyed = int64(m.Live()-streams), int64(streams), int64(len(c.sends.keyed))
	st.QueuedBytes = int64(len(frame.Preface)) + int64(m.Tx.Bytes) - int64(c.stats.txBytes)
	for _, waiting := range [][]*Stream{c.out.ring, c.windows.starved} {
		for _, s := range waiting {
			st.QueuedBytes += int64(len(s.pend))
		}
	}
	now := c.now()
	st.OldestUnsent = c.out.age.at(now)
	if len(c.windows.starved) > 0 {
		st.OldestUnsent = max(st.OldestUnsent, now-c.windows.starvedAt)
	}
}

func trafficOf(t *machine.Tally) Traffic {
	r := Traffic{
		Posts: int64(t.Posts), Requests: int64(t.Frames[frame.REQ]), Responses: int64(t.Frames[frame.RES]),
		Starts: int64(t.Frames[frame.OPEN]), Stream: int64(t.Messages), Fins: int64(t.Ends),
		Bytes: int64(t.Bytes), Frames: int64(t.Total()), Errors: int64(t.Errors),
	}
	if r.Frames > 0 {
		r.Bytes += int64(len(frame.Preface))
	}
	return r
}

// All yields the counters by name, in alphabetical order.
func (s Stats) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, f := range statFields {
			if !yield(f.name, f.value(&s)) {
				return
			}
		}
	}
}

// StatNames are the names that All yields, in its order.
func StatNames() []string {
	names := make([]string, len(statFields))
	for i, f := range statFields {
		names[i] = f.name
	}
	return names
}

// Map is All as a map of its own.
func (s Stats) Map() map[string]int64 { return maps.Collect(s.All()) }

// MarshalJSON is All as an object.
func (s Stats) MarshalJSON() ([]byte, error) { return json.Marshal(s.Map()) }

// Add makes s the stats of two connections together: sums, but the longer one of RTT and of
// OldestUnsent.
func (s *Stats) Add(o Stats) {
	for i := range statFields {
		f := &statFields[i]
		switch {
		case f.longest:
			*f.at(s) = max(*f.at(s), *f.at(&o))
		case f.sum == nil:
			*f.at(s) += *f.at(&o)
		}
	}
}

// statField is one entry of the flat list. Its value is a field of Stats, or a sum of some.
type statField struct {
	name    string
	at      func(*Stats) *int64
	unit    int64 // of a duration; 0 is 1
	longest bool  // Add takes the longer one
	sum     func(*Stats) int64
}

func (f *statField) value(s *Stats) int64 {
	if f.sum != nil {
		return f.sum(s)
	}
	return *f.at(s) / max(f.unit, 1)
}

var statFields = func() []statField {
	fields := []statField{
		{name: "n_flushes", at: func(s *Stats) *int64 { return &s.Flushes }},
		{name: "n_rxbeats", at: func(s *Stats) *int64 { return &s.Heartbeats }},
		{name: "n_dropped", at: func(s *Stats) *int64 { return &s.DroppedBytes }},
		{name: "n_mdrops", at: func(s *Stats) *int64 { return &s.DroppedMessages }},
		{name: "n_cancel", at: func(s *Stats) *int64 { return &s.Cancels }},
		{name: "n_reset", at: func(s *Stats) *int64 { return &s.Resets }},
		{name: "n_credit", at: func(s *Stats) *int64 { return &s.Credits }},
		{name: "n_stale", at: func(s *Stats) *int64 { return &s.Stale }},
		{name: "n_posterr", at: func(s *Stats) *int64 { return &s.PostErrors }},
		{name: "n_conflated", at: func(s *Stats) *int64 { return &s.Conflated }},
		{name: "n_stall_ns", at: func(s *Stats) *int64 { return (*int64)(&s.Stall) }},
		{name: "rtt_ns", at: func(s *Stats) *int64 { return (*int64)(&s.RTT) }, longest: true},
		{name: "inflight", at: func(s *Stats) *int64 { return &s.Inflight }},
		{name: "streams", at: func(s *Stats) *int64 { return &s.Streams }},
		{name: "keyed", at: func(s *Stats) *int64 { return &s.Keyed }},
		{name: "queued_bytes", at: func(s *Stats) *int64 { return &s.QueuedBytes }},
		{name: "oldest_unsent_ms", at: func(s *Stats) *int64 { return (*int64)(&s.OldestUnsent) }, unit: int64(time.Millisecond), longest: true},
	}
	fields = append(fields, trafficFields("n_tx", func(s *Stats) *Traffic { return &s.Tx })...)
	fields = append(fields, trafficFields("n_rx", func(s *Stats) *Traffic { return &s.Rx })...)
	for i := range histogramBuckets {
		fields = append(fields, statField{name: fmt.Sprintf("n_flush_%04d", 1<<i), at: func(s *Stats) *int64 { return &s.PerFlush[i] }})
	}
	slices.SortFunc(fields, func(a, b statField) int { return cmp.Compare(a.name, b.name) })
	return fields
}()

func trafficFields(prefix string, of func(*Stats) *Traffic) []statField {
	return []statField{
		{name: prefix, sum: func(s *Stats) int64 { return of(s).Messages() }},
		{name: prefix + "post", at: func(s *Stats) *int64 { return &of(s).Posts }},
		{name: prefix + "req", at: func(s *Stats) *int64 { return &of(s).Requests }},
		{name: prefix + "resp", at: func(s *Stats) *int64 { return &of(s).Responses }},
		{name: prefix + "start", at: func(s *Stats) *int64 { return &of(s).Starts }},
		{name: prefix + "stream", at: func(s *Stats) *int64 { return &of(s).Stream }},
		{name: prefix + "fin", at: func(s *Stats) *int64 { return &of(s).Fins }},
		{name: prefix + "byte", at: func(s *Stats) *int64 { return &of(s).Bytes }},
		{name: prefix + "frame", at: func(s *Stats) *int64 { return &of(s).Frames }},
		{name: prefix + "err", at: func(s *Stats) *int64 { return &of(s).Errors }},
	}
}

// shellStats holds the counts that the machine does not see. It is guarded by Conn.mu.
type shellStats struct {
	txBytes      uint64
	flushes      uint64
	dropped      uint64 // posts that were not sent or not handled
	droppedBytes uint64 // of those
	unread       uint64 // bytes of streams that came and were not read
	rxFailed     uint64 // posts whose handler returned an error
	conflated    uint64
	stalled      time.Duration // of posts, waiting for room
	perFlush     [histogramBuckets]uint64
	lastFrames   uint64 // that had been handed out before
}

// histogramBuckets is how many powers of two the histogram of frames per write
// has.
const histogramBuckets = 12

// wrote counts a write to the socket.
func (s *shellStats) wrote(n int) {
	if n > 0 {
		s.flushes++
		s.txBytes += uint64(n)
	}
}

// took counts the frames that are about to be written: all of those in t that
// were not before.
func (s *shellStats) took(t *machine.Tally) {
	total := t.Total()
	if n := total - s.lastFrames; n > 0 {
		s.perFlush[min(bits.Len64(n), histogramBuckets)-1]++
	}
	s.lastFrames = total
}

// dropPosts counts received posts that are not handled.
func (s *shellStats) dropPosts(p *Posts) {
	s.dropped += uint64(p.count)
	s.droppedBytes += uint64(len(p.body))
}

// dropPost counts a post that is not sent.
func (s *shellStats) dropPost(body []byte) {
	s.dropped++
	s.droppedBytes += uint64(len(body))
}

// unsentAge bounds from above for how long the oldest byte of the present write
// has waited, from nothing but the times at which writes begin: it was given after
// the write before had begun, or, if the writer was at rest, right now.
type unsentAge struct {
	busy   bool          // a write has begun since the writer was at rest
	began  time.Duration // the present write
	oldest time.Duration
}

func (a *unsentAge) begin(now time.Duration) {
	if a.oldest = now; a.busy {
		a.oldest = a.began
	}
	a.busy, a.began = true, now
}

func (a *unsentAge) rest() { a.busy = false }

func (a *unsentAge) at(now time.Duration) time.Duration {
	if !a.busy {
		return 0
	}
	return now - a.oldest
}
