package http2

import (
	"bytes"
	"fmt"
	"math"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/load"
)

// The bounds of a connection, in bytes unless they are of something else.
const (
	noLimit      = math.MaxUint32
	maxFrame     = 16 << 10 // in both directions: every peer takes that
	firstWindow  = 65535    // until SETTINGS or WINDOW_UPDATE say otherwise
	streamWindow = 16 << 20 // of an answer under way
	connWindow   = 64 << 20 // of all answers under way
	tableSize    = 4096     // of header fields that both ends remember
	maxHead      = 64 << 10 // of an answer's head, compressed, and of one field
	keptRest     = 64 << 10 // of memory for a body that waits, which is used again
	lastStream   = 1<<31 - 1
	maxAsked     = 1000 // frames between two answers that take work and bring nothing
)

// session is one connection. The stream of a request has the number 2*slot+1.
type session struct {
	*thread
	framer  *http2.Framer // from in, to the thread's out
	in      bytes.Reader
	encoder *hpack.Encoder // to block
	block   sink
	decoder *hpack.Decoder // to head

	streams []stream // by slot; the length is a power of two
	open    uint32   // of them
	limit   uint32   // of open, as the service says
	next    uint32   // number of the first stream that has not been opened
	window  int64    // bytes that the service takes of all streams
	initial int64    // and of a new one
	waiting int      // streams with a rest
	got     int64    // bytes since the last WINDOW_UPDATE
	asked   int      // see maxAsked
	head    head     // that was decoded last

	ready   bool // the service's SETTINGS have come
	going   bool // GOAWAY has
	partial bool // a part of a frame has
}

// stream is a request in progress.
type stream struct {
	id     uint32 // 0 = there is none
	head   bool   // HEAD was asked
	status uint16 // 0 = the head of the answer has not come
	first  int64  // see load.Answer
	length int64  // of the answer's body by its head; below 0 = it does not say
	body   int64  // bytes of it that came
	got    int64  // bytes since the last WINDOW_UPDATE
	window int64  // bytes that the service takes
	rest   []byte // of the request's body, which waits for that
}

// Greet appends the preface and the settings.
func (s *session) Greet(dst []byte) []byte {
	s.out.b = append(s.out.b[:0], http2.ClientPreface...)
	_ = s.framer.WriteSettings( // to memory, as all frames here
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHead},
	)
	_ = s.framer.WriteWindowUpdate(0, connWindow-firstWindow)
	return append(dst, s.out.b...)
}

// Ready reports whether the service has told its limits.
func (s *session) Ready() bool { return s.ready }

// Room reports whether the service takes one more stream.
func (s *session) Room() bool { return s.open < s.limit && !s.over() }

// over reports whether the connection has had its last stream.
func (s *session) over() bool { return s.going || s.next > lastStream }

// Request makes the frames of the next one. A body goes as far as the service takes it.
//
// hot: guarded by TestDoesNotAllocate.
func (s *session) Request(r *load.Request) error {
	m, err := s.source.Make(r.Number)
	if err != nil {
		return err
	}
	list, err := s.fields(m.Bytes[:m.Head])
	if err != nil {
		return err
	}
	s.block.b, s.out.b = s.block.b[:0], s.out.b[:0]
	for _, f := range list {
		_ = s.encoder.WriteField(f)
	}
	if len(s.block.b) > maxFrame {
		return failed(load.ClassProtocol, "a request's head of more than %d KiB", maxFrame>>10)
	}
	st, body := s.begin(r.Slot), m.Bytes[m.Head:]
	st.head = list[0].Value == "HEAD"
	_ = s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: st.id, BlockFragment: s.block.b, EndStream: len(body) == 0, EndHeaders: true})
	if rest := s.send(st, body); len(rest) > 0 {
		st.rest = append(st.rest, rest...)
		s.waiting++
	}
	r.Bytes, r.Target = s.out.b, m.Target
	return nil
}

// send writes as much of a body as the service takes, and returns the rest.
func (s *session) send(st *stream, body []byte) (rest []byte) {
	for len(body) > 0 {
		n := min(int64(len(body)), maxFrame, st.window, s.window)
		if n <= 0 {
			break
		}
		_ = s.framer.WriteData(st.id, n == int64(len(body)), body[:n])
		st.window -= n
		s.window -= n
		body = body[n:]
	}
	return body
}

// resume goes on with the bodies that wait, as far as the service takes them now.
func (s *session) resume() {
	for i := 0; i < len(s.streams) && s.waiting > 0 && s.window > 0; i++ {
		if st := &s.streams[i]; st.id != 0 && len(st.rest) > 0 {
			if st.rest = st.rest[:copy(st.rest, s.send(st, st.rest))]; len(st.rest) == 0 {
				s.waiting--
			}
		}
	}
}

// begin opens the stream of a slot. Slots in use differ modulo the size of the engine's ring, so
// the table does not get larger than that.
func (s *session) begin(slot uint32) *stream {
	for len(s.streams) == 0 || s.place(slot).id != 0 {
		old := s.streams
		s.streams = make([]stream, max(2*len(old), 8))
		for _, st := range old {
			if st.id != 0 {
				*s.place(st.id / 2) = st
			}
		}
	}
	st := s.place(slot)
	*st = stream{id: 2*slot + 1, length: -1, window: s.initial, rest: st.rest[:0]}
	s.open++
	s.next = st.id + 2
	return st
}

func (s *session) place(slot uint32) *stream { return &s.streams[slot&uint32(len(s.streams)-1)] }

// of is the stream of a frame; nil = it has ended. A stream that was never opened is an error.
func (s *session) of(id uint32) (*stream, error) {
	if id%2 == 0 || id >= s.next {
		return nil, failed(load.ClassProtocol, "a frame of the stream %d, which is of no request", id)
	}
	if st := s.place(id / 2); st.id == id {
		return st, nil
	}
	return nil, nil
}

func failed(class load.Class, format string, args ...any) error {
	return &load.Failed{Class: class, Err: fmt.Errorf("http2: "+format, args...)}
}

// end ends a stream with its answer. A service that has not taken all of the request is told to
// forget the rest.
func (s *session) end(st *stream, class load.Class, why string, answers *load.Answers) {
	answers.Add(load.Answer{Match: load.BySlot, Slot: st.id / 2, Class: class, Why: why, Status: st.status, Body: st.body, First: st.first})
	if len(st.rest) > 0 && class != load.ClassStream {
		_ = s.framer.WriteRSTStream(st.id, http2.ErrCodeCancel)
	}
	s.asked = 0
	s.forget(st)
}

func (s *session) forget(st *stream) {
	if len(st.rest) > 0 {
		s.waiting--
	}
	if cap(st.rest) > keptRest {
		st.rest = nil
	}
	st.id, st.rest = 0, st.rest[:0]
	s.open--
}

// Cancel gives up a stream. The rest of its answer is skipped.
func (s *session) Cancel(dst []byte, slot uint32) []byte {
	st := s.place(slot)
	s.out.b = s.out.b[:0]
	_ = s.framer.WriteRSTStream(st.id, http2.ErrCodeCancel)
	s.forget(st)
	return append(dst, s.out.b...)
}

// End takes the end of the connection.
func (s *session) End(*load.Answers) error {
	for i := range s.streams {
		s.partial = s.partial || s.streams[i].id != 0 && s.streams[i].first != 0
	}
	if s.partial {
		return failed(load.ClassEarlyEnd, "the connection ended within an answer")
	}
	return nil
}
