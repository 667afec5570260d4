package http2

import (
	"bytes"
	"cmp"
	"math"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/load"
)

// frameHead is the size of a frame's head in bytes.
const frameHead = 9

// Receive takes whole frames.
//
// hot: guarded by TestDoesNotAllocate.
func (s *session) Receive(in []byte, answers *load.Answers) (used int, err error) {
	s.out.b = s.out.b[:0]
	for len(in)-used >= frameHead && !answers.Over {
		b := in[used:]
		n := frameHead + int(b[0])<<16 + int(b[1])<<8 + int(b[2])
		switch {
		case !s.ready && bytes.HasPrefix(b, []byte("HTTP/1.")):
			return used, failed(load.ClassParse, "the service does not speak HTTP/2 here: it answers with HTTP/1")
		case !s.ready && b[3] != byte(http2.FrameSettings):
			return used, failed(load.ClassParse, "the bytes are no beginning of HTTP/2")
		case n > frameHead+maxFrame:
			return used, failed(load.ClassParse, "a frame of %d bytes", n-frameHead)
		}
		if len(b) < n {
			break
		}
		s.in.Reset(b[:n])
		if err := s.frame(answers); err != nil {
			return used, err
		}
		used += n
		answers.Over = s.open == 0 && s.over()
	}
	s.partial = used < len(in)
	answers.Reply = s.out.b
	return used, nil
}

// frame takes the frame that in has.
func (s *session) frame(answers *load.Answers) error {
	f, err := s.framer.ReadFrame()
	if err != nil {
		if why := s.framer.ErrorDetail(); why != nil {
			err = why
		}
		return failed(load.ClassParse, "%w", err)
	}
	switch f := f.(type) {
	case *http2.DataFrame:
		return s.data(f, answers)
	case *http2.HeadersFrame:
		s.head = head{bytes: s.head.bytes[:0], ends: f.StreamEnded(), length: -1}
		return s.fragment(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded(), answers)
	case *http2.ContinuationFrame:
		return s.fragment(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded(), answers)
	case *http2.WindowUpdateFrame:
		return s.widen(f.StreamID, int64(f.Increment))
	case *http2.RSTStreamFrame:
		st, err := s.of(f.StreamID)
		if st != nil {
			s.end(st, load.ClassStream, "RST_STREAM "+f.ErrCode.String(), answers)
		}
		return err
	case *http2.GoAwayFrame:
		return s.goAway(f, answers)
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return s.settings(f)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = s.framer.WritePing(true, f.Data)
			return s.ask()
		}
	case *http2.PushPromiseFrame:
		return failed(load.ClassProtocol, "a push, which the settings forbid")
	}
	return nil
}

// ask counts a frame that takes work, and brings nothing.
func (s *session) ask() error {
	if s.asked++; s.asked > maxAsked {
		return failed(load.ClassProtocol, "more than %d frames that bring no answer", maxAsked)
	}
	return nil
}

// settings takes the service's limits.
func (s *session) settings(f *http2.SettingsFrame) error {
	s.ready = true
	for i := range f.NumSettings() {
		set := f.Setting(i)
		if err := set.Valid(); err != nil {
			return failed(load.ClassParse, "SETTINGS: %v: %w", set, err)
		}
		switch set.ID {
		case http2.SettingMaxConcurrentStreams:
			s.limit = set.Val
		case http2.SettingHeaderTableSize:
			s.encoder.SetMaxDynamicTableSizeLimit(min(set.Val, tableSize))
		case http2.SettingInitialWindowSize:
			more := int64(set.Val) - s.initial
			s.initial += more
			for k := range s.streams {
				s.streams[k].window += more
			}
			s.resume()
		}
	}
	_ = s.framer.WriteSettingsAck()
	return s.ask()
}

// widen lets more of the bodies go: those of all streams, or of one.
func (s *session) widen(id uint32, more int64) error {
	window := &s.window
	if id != 0 {
		st, err := s.of(id)
		if st == nil {
			return err
		}
		window = &st.window
	}
	if *window += more; *window > math.MaxInt32 {
		return failed(load.ClassProtocol, "WINDOW_UPDATE: a window of more than 2^31-1 bytes")
	}
	s.resume()
	return nil
}

// goAway takes the end that the service has announced: streams that it has not taken have failed,
// and the others go on. If it ends for an error, so does the connection at once.
func (s *session) goAway(f *http2.GoAwayFrame, answers *load.Answers) error {
	if f.ErrCode != http2.ErrCodeNo {
		return failed(load.ClassGoAway, "GOAWAY %v: %q", f.ErrCode, f.DebugData())
	}
	s.going = true
	for i := range s.streams {
		if st := &s.streams[i]; st.id > f.LastStreamID {
			s.end(st, load.ClassGoAway, "GOAWAY: the service ends the connection, and has not taken the request", answers)
		}
	}
	return nil
}

// data takes a part of a body. Its bytes count for the windows with their padding.
func (s *session) data(f *http2.DataFrame, answers *load.Answers) error {
	n := int64(f.Length)
	if s.got += n; s.got > connWindow/2 {
		_ = s.framer.WriteWindowUpdate(0, uint32(s.got))
		s.got = 0
	}
	st, err := s.of(f.StreamID)
	switch {
	case st == nil:
		return err
	case st.status == 0:
		return failed(load.ClassProtocol, "DATA before the head of the answer")
	}
	st.body += int64(len(f.Data()))
	if st.got += n; st.got > streamWindow {
		return failed(load.ClassProtocol, "DATA beyond the window of the stream")
	}
	switch {
	case f.StreamEnded():
		s.complete(st, answers)
	case st.got > streamWindow/2:
		_ = s.framer.WriteWindowUpdate(st.id, uint32(st.got))
		st.got = 0
	}
	return nil
}

// head is the head of an answer, as it is decoded.
type head struct {
	bytes  []byte // of the frames so far, if it is in several
	ends   bool   // the stream ends behind it
	status uint16
	length int64 // below 0 = it has none
	wrong  bool
}

// fragment takes a part of a head.
func (s *session) fragment(id uint32, b []byte, ends bool, answers *load.Answers) error {
	h := &s.head
	if len(h.bytes)+len(b) > maxHead {
		return failed(load.ClassParse, "a head of more than %d KiB", maxHead>>10)
	}
	if !ends {
		h.bytes = append(h.bytes, b...)
		return s.ask() // the frames of a head may be empty, and without end
	}
	if len(h.bytes) > 0 {
		h.bytes = append(h.bytes, b...)
		b = h.bytes
	}
	s.decoder.SetEmitEnabled(true)
	_, err := s.decoder.Write(b)
	if err = cmp.Or(err, s.decoder.Close()); err != nil {
		return failed(load.ClassParse, "a head: %w", err)
	}
	st, err := s.of(id)
	if st == nil {
		return err
	}
	if st.first == 0 {
		st.first = answers.Now
	}
	return s.answer(st, answers)
}

// field takes a field of the head that is decoded. Behind those of interest, fields are read for
// the table alone.
func (s *session) field(f hpack.HeaderField) {
	h := &s.head
	switch f.Name {
	case ":status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		h.wrong = h.wrong || err != nil || len(f.Value) != 3 || n < 100 || h.status != 0
		h.status = uint16(n)
	case "content-length":
		n, err := strconv.ParseUint(f.Value, 10, 63)
		h.wrong = h.wrong || err != nil || h.length >= 0 && h.length != int64(n)
		h.length = int64(n)
		s.decoder.SetEmitEnabled(h.status == 0)
	}
}

// answer takes a head that is complete: of an answer, of an interim one, or its trailers.
func (s *session) answer(st *stream, answers *load.Answers) error {
	h := &s.head
	switch {
	case st.status != 0 && !h.ends:
		return failed(load.ClassProtocol, "a second head of an answer")
	case st.status != 0:
		s.complete(st, answers)
		return nil
	case h.wrong || h.status == 0 || h.status < 200 && h.ends:
		return failed(load.ClassParse, "the head of an answer without a status, or with a wrong length")
	case h.status < 200:
		return nil // the answer is still to come
	}
	st.status, st.length = h.status, h.length
	if h.ends {
		s.complete(st, answers)
	}
	return nil
}

// complete ends a stream whose answer has come whole.
func (s *session) complete(st *stream, answers *load.Answers) {
	switch {
	case !st.head && st.status != 304 && st.length >= 0 && st.length != st.body:
		s.end(st, load.ClassBody, "http2: a body of another length than Content-Length says", answers)
	case s.codec.Good.Good(st.status):
		s.end(st, load.ClassOK, "", answers)
	default:
		s.end(st, load.ClassStatus, "", answers)
	}
}
