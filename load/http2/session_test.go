package http2_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	wire "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/load"
	"paddock/load/http1"
	"paddock/load/http2"
)

// peer writes the frames of a service, and reads those of a session.
type peer struct {
	*wire.Framer
	out, in bytes.Buffer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func newPeer() *peer {
	p := &peer{}
	p.Framer = wire.NewFramer(&p.out, &p.in)
	p.AllowIllegalWrites = true
	p.encoder = hpack.NewEncoder(&p.block)
	return p
}

// head writes the head of an answer: names and values.
func (p *peer) head(id uint32, ends bool, fields ...string) {
	_ = p.WriteHeaders(wire.HeadersFrameParam{StreamID: id, BlockFragment: p.compress(fields...), EndStream: ends, EndHeaders: true})
}

func (p *peer) compress(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return p.block.Bytes()
}

// codec sends one request over and over.
func codec(t testing.TB, r http1.Request) *http2.Codec {
	t.Helper()
	if r.URL == "" {
		r.URL = "http://host/path?{{seq}}"
	}
	requests, err := http1.Compile([]http1.Request{r}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &http2.Codec{Requests: requests, Scheme: "http"}
}

// feed makes so many requests on a session, hands a stream to it in parts as an engine does, and
// returns the answers and the end in words.
func feed(s load.Session, asked int, stream []byte, part func(left int) int) (got []load.Answer, how string) {
	var answers load.Answers
	var rest []byte
	answers.Now = 1
	for len(stream) > 0 {
		n := part(len(stream))
		rest, stream = append(rest, stream[:n]...), stream[n:]
		used, err := s.Receive(rest, &answers)
		got = answers.List
		if err != nil {
			f, _ := errors.AsType[*load.Failed](err)
			return got, f.Class.String() + ": " + f.Err.Error()
		}
		if answers.Over {
			return got, "over"
		}
		for rest = append([]byte(nil), rest[used:]...); asked > 0 && s.Ready(); asked-- {
			_ = s.Request(&load.Request{Slot: s.(interface{ asking() uint32 }).asking()})
		}
	}
	if err := s.End(&answers); err != nil {
		return answers.List, err.Error()
	}
	return answers.List, "end"
}

// counted is a session whose slots count up.
type counted struct {
	load.Multiplexed
	slot uint32
}

func (c *counted) asking() uint32 {
	c.slot++
	return c.slot - 1
}

func session(c *http2.Codec) *counted {
	return &counted{Multiplexed: c.Thread(0, 1).Session().(load.Multiplexed)}
}

func whole(left int) int { return left }

func good(slot uint32, status uint16, body int64) load.Answer {
	return load.Answer{Match: load.BySlot, Slot: slot, Status: status, Body: body, First: 1}
}

func bad(a load.Answer, c load.Class, why string) load.Answer {
	a.Class, a.Why = c, why
	return a
}

const notTaken = "GOAWAY: the service ends the connection, and has not taken the request"

// histories are streams of services, behind their settings, with the expected result.
var histories = []struct {
	name  string
	asked int
	write func(*peer)
	want  []load.Answer
	how   string
}{
	{"a body", 1, func(p *peer) {
		p.head(1, false, ":status", "200", "content-length", "5")
		_ = p.WriteData(1, true, []byte("hello"))
	}, []load.Answer{good(0, 200, 5)}, "end"},
	{"no body", 1, func(p *peer) { p.head(1, true, ":status", "204") }, []load.Answer{good(0, 204, 0)}, "end"},
	{"in any order, in parts, with padding", 2, func(p *peer) {
		p.head(3, false, ":status", "200")
		p.head(1, false, ":status", "404")
		_ = p.WriteDataPadded(3, false, []byte("hel"), make([]byte, 100))
		_ = p.WriteData(1, false, nil)
		_ = p.WriteData(3, true, []byte("lo"))
		_ = p.WriteData(1, true, []byte("no"))
	}, []load.Answer{good(1, 200, 5), bad(good(0, 404, 2), load.ClassStatus, "")}, "end"},
	{"interim, trailers, other frames", 1, func(p *peer) {
		p.head(1, false, ":status", "103", "link", "</a>")
		_ = p.WritePriority(1, wire.PriorityParam{})
		p.head(1, false, ":status", "200", "x-y", strings.Repeat("z", 100))
		_ = p.WriteData(1, false, []byte("hello"))
		_ = p.WritePing(false, [8]byte{1})
		_ = p.WriteRawFrame(0x77, 0, 1, []byte("unknown"))
		p.head(1, true, "x-sum", "1")
	}, []load.Answer{good(0, 200, 5)}, "end"},
	{"a head in three frames", 1, func(p *peer) {
		b := p.compress(":status", "200", "x-y", "a value that is not short")
		_ = p.WriteHeaders(wire.HeadersFrameParam{StreamID: 1, BlockFragment: b[:1], EndStream: true})
		_ = p.WriteContinuation(1, false, b[1:4])
		_ = p.WriteContinuation(1, true, b[4:])
	}, []load.Answer{good(0, 200, 0)}, "end"},
	{"fields of the table", 2, func(p *peer) {
		for id := range uint32(2) {
			p.head(2*id+1, false, ":status", "299", "server", "a", "content-length", "1")
			_ = p.WriteData(2*id+1, true, []byte("x"))
		}
	}, []load.Answer{good(0, 299, 1), good(1, 299, 1)}, "end"},
	{"a body too short", 1, func(p *peer) {
		p.head(1, false, ":status", "200", "content-length", "5")
		_ = p.WriteData(1, true, []byte("hell"))
	}, []load.Answer{bad(good(0, 200, 4), load.ClassBody, "http2: a body of another length than Content-Length says")}, "end"},
	{"304 with a length", 1, func(p *peer) { p.head(1, true, ":status", "304", "content-length", "5") }, []load.Answer{good(0, 304, 0)}, "end"},
	{"RST_STREAM", 2, func(p *peer) {
		_ = p.WriteRSTStream(1, wire.ErrCodeRefusedStream)
		p.head(3, true, ":status", "200")
		_ = p.WriteRSTStream(3, wire.ErrCodeNo)
	}, []load.Answer{bad(load.Answer{Match: load.BySlot}, load.ClassStream, "RST_STREAM REFUSED_STREAM"), good(1, 200, 0)}, "end"},
	{"RST_STREAM within an answer", 1, func(p *peer) {
		p.head(1, false, ":status", "200")
		_ = p.WriteData(1, false, []byte("hel"))
		_ = p.WriteRSTStream(1, wire.ErrCodeInternal)
		_ = p.WriteData(1, true, []byte("lo"))
	}, []load.Answer{bad(good(0, 200, 3), load.ClassStream, "RST_STREAM INTERNAL_ERROR")}, "end"},
	{"GOAWAY", 3, func(p *peer) {
		_ = p.WriteGoAway(1, wire.ErrCodeNo, nil)
		p.head(1, true, ":status", "200")
	}, []load.Answer{
		bad(load.Answer{Match: load.BySlot, Slot: 1}, load.ClassGoAway, notTaken), bad(load.Answer{Match: load.BySlot, Slot: 2}, load.ClassGoAway, notTaken), good(0, 200, 0),
	}, "over"},
	{"GOAWAY, and nothing waits", 0, func(p *peer) { _ = p.WriteGoAway(0, wire.ErrCodeNo, nil) }, nil, "over"},
	{"GOAWAY for an error", 1, func(p *peer) { _ = p.WriteGoAway(0, wire.ErrCodeEnhanceYourCalm, []byte("too\nmuch")) }, nil, `goaway: http2: GOAWAY ENHANCE_YOUR_CALM: "too\nmuch"`},

	{"ends before", 1, func(*peer) {}, nil, "end"},
	{"ends within a body", 1, func(p *peer) {
		p.head(1, false, ":status", "200")
	}, nil, "eof-mid: http2: the connection ended within an answer"},
	{"ends within a frame", 0, func(p *peer) { p.out.WriteString("\x00\x00\x08\x06") }, nil, "eof-mid: http2: the connection ended within an answer"},

	{"a stream that was not asked for", 1, func(p *peer) { p.head(5, true, ":status", "200") }, nil, "protocol: http2: a frame of the stream 5, which is of no request"},
	{"a stream of the service", 1, func(p *peer) { p.head(2, true, ":status", "200") }, nil, "protocol: http2: a frame of the stream 2, which is of no request"},
	{"a push", 1, func(p *peer) {
		_ = p.WritePushPromise(wire.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: []byte{0x82}, EndHeaders: true})
	}, nil, "protocol: http2: a push, which the settings forbid"},
	{"DATA at first", 1, func(p *peer) { _ = p.WriteData(1, true, nil) }, nil, "protocol: http2: DATA before the head of the answer"},
	{"two heads", 1, func(p *peer) {
		p.head(1, false, ":status", "200")
		p.head(1, false, ":status", "200")
	}, nil, "protocol: http2: a second head of an answer"},
	{"no status", 1, func(p *peer) { p.head(1, true, "server", "x") }, nil, "parse: http2: the head of an answer without a status, or with a wrong length"},
	{"a status of two digits", 1, func(p *peer) { p.head(1, true, ":status", "20") }, nil, "parse: http2: the head of an answer without a status, or with a wrong length"},
	{"a length with a sign", 1, func(p *peer) { p.head(1, true, ":status", "200", "content-length", "+5") }, nil, "parse: http2: the head of an answer without a status, or with a wrong length"},
	{"101", 1, func(p *peer) { p.head(1, true, ":status", "101") }, nil, "parse: http2: the head of an answer without a status, or with a wrong length"},
	{"a head that is not compressed", 1, func(p *peer) {
		_ = p.WriteHeaders(wire.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff}, EndHeaders: true})
	}, nil, "parse: http2: a head: decoding error: truncated headers"},
	{"a large head", 1, func(p *peer) {
		b := make([]byte, 16<<10)
		_ = p.WriteHeaders(wire.HeadersFrameParam{StreamID: 1, BlockFragment: b})
		for range 4 {
			_ = p.WriteContinuation(1, false, b)
		}
	}, nil, "parse: http2: a head of more than 64 KiB"},
	{"a head without end", 1, func(p *peer) {
		_ = p.WriteHeaders(wire.HeadersFrameParam{StreamID: 1})
		for range 1001 {
			_ = p.WriteContinuation(1, false, nil)
		}
	}, nil, "protocol: http2: more than 1000 frames that bring no answer"},
	{"only PING", 1, func(p *peer) {
		for range 1001 {
			_ = p.WritePing(false, [8]byte{})
		}
	}, nil, "protocol: http2: more than 1000 frames that bring no answer"},
	{"a large frame", 1, func(p *peer) { _ = p.WriteData(1, true, make([]byte, 16<<10+1)) }, nil, "parse: http2: a frame of 16385 bytes"},
	{"a frame within a head", 1, func(p *peer) {
		_ = p.WriteHeaders(wire.HeadersFrameParam{StreamID: 1})
		_ = p.WritePing(false, [8]byte{})
	}, nil, "parse: http2: got PING for stream 0; expected CONTINUATION following HEADERS for stream 1"},
	{"a window that overflows", 1, func(p *peer) { _ = p.WriteWindowUpdate(0, 1<<31-1) }, nil, "protocol: http2: WINDOW_UPDATE: a window of more than 2^31-1 bytes"},
	{"settings that are wrong", 1, func(p *peer) {
		_ = p.WriteSettings(wire.Setting{ID: wire.SettingInitialWindowSize, Val: 1 << 31})
	}, nil, "parse: http2: connection error: FLOW_CONTROL_ERROR"},
	{"too much data", 1, func(p *peer) {
		p.head(1, false, ":status", "200")
		for range 9 << 20 / (16 << 10) { // in one read: no WINDOW_UPDATE has gone
			_ = p.WriteData(1, false, make([]byte, 16<<10))
		}
		_ = p.WriteData(1, true, nil)
	}, []load.Answer{good(0, 200, 9<<20)}, "end"},
}

// behindSettings cuts behind the empty settings, where requests go out, and then as part does.
func behindSettings(part func(int) int) func(int) int {
	first := true
	return func(left int) int {
		if first {
			first = false
			return 9
		}
		return part(left)
	}
}

// Each history gives its result, however the stream is cut.
func TestHistories(t *testing.T) {
	for _, tc := range histories {
		p := newPeer()
		_ = p.WriteSettings()
		tc.write(p)
		for name, part := range map[string]func(int) int{
			"whole": whole, "small parts": func(left int) int { return min(left, max(1, p.out.Len()/1000)) }, "parts of 7": func(left int) int { return min(left, max(7, p.out.Len()/1000)) },
		} {
			got, how := feed(session(codec(t, http1.Request{})), tc.asked, p.out.Bytes(), behindSettings(part))
			if fmt.Sprint(got) != fmt.Sprint(tc.want) || how != tc.how {
				t.Errorf("%s, %s:\n%v, %q, not\n%v, %q", tc.name, name, got, how, tc.want, tc.how)
			}
		}
	}
}

// A service that speaks something else is told apart.
func TestNotHTTP2(t *testing.T) {
	for stream, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "parse: http2: the service does not speak HTTP/2 here: it answers with HTTP/1",
		"SSH-2.0-OpenSSH_9.2\r\n":          "parse: http2: the bytes are no beginning of HTTP/2",
	} {
		if got, how := feed(session(codec(t, http1.Request{})), 1, []byte(stream), whole); len(got) > 0 || how != want {
			t.Errorf("%q: %v, %s", stream, got, how)
		}
	}
}

// started is a session whose service has sent settings.
func started(t testing.TB, r http1.Request, settings ...wire.Setting) (*counted, *peer) {
	t.Helper()
	s, p := session(codec(t, r)), newPeer()
	_ = p.WriteSettings(settings...)
	p.in.Write(s.Greet(nil)[len(wire.ClientPreface):])
	p.take(t, s)
	return s, p
}

// take hands the service's frames to a session, and its reply to the service.
func (p *peer) take(t testing.TB, s load.Session) []load.Answer {
	t.Helper()
	var answers load.Answers
	if used, err := s.Receive(p.out.Bytes(), &answers); err != nil || used != p.out.Len() {
		t.Fatal(used, err)
	}
	p.out.Reset()
	p.in.Write(answers.Reply)
	return answers.List
}

// frames reads the frames that have come, in words.
func (p *peer) frames(t testing.TB) (list []string) {
	t.Helper()
	decoder := hpack.NewDecoder(4096, nil)
	for p.in.Len() > 0 {
		f, err := p.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%v %d", f.Header().Type, f.Header().StreamID)
		switch f := f.(type) {
		case *wire.HeadersFrame:
			fields, err := decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range fields {
				text += " " + h.Name + "=" + h.Value
			}
			text += fmt.Sprint(" ", f.StreamEnded())
		case *wire.DataFrame:
			text += fmt.Sprint(" ", len(f.Data()), " ", f.StreamEnded())
		case *wire.WindowUpdateFrame:
			text += fmt.Sprint(" ", f.Increment)
		case *wire.RSTStreamFrame:
			text += " " + f.ErrCode.String()
		}
		list = append(list, text)
	}
	return list
}

func ask(t testing.TB, s *counted, p *peer) {
	t.Helper()
	r := &load.Request{Slot: s.asking()}
	r.Number = int64(r.Slot)
	if err := s.Request(r); err != nil {
		t.Fatal(err)
	}
	p.in.Write(r.Bytes)
}

func checkFrames(t *testing.T, p *peer, want ...string) {
	t.Helper()
	if got := p.frames(t); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A request has the fields of that of HTTP/1, without the fields that HTTP/2 does not have.
func TestRequest(t *testing.T) {
	s, p := started(t, http1.Request{
		Method: "PUT", Body: []byte("hello {{seq}}"), UserAgent: "me", Header: []http1.Field{{Name: "Connection", Value: "keep-alive"}, {Name: "X-Y", Value: "a: b"}},
	})
	checkFrames(t, p, "SETTINGS 0", "WINDOW_UPDATE 0 67043329", "SETTINGS 0")
	ask(t, s, p)
	ask(t, s, p)
	const fields = ":method=PUT :scheme=http :authority=host :path=/path?%d user-agent=me accept=*/* x-y=a: b content-length=7 false"
	size := p.in.Len()
	checkFrames(t, p, "HEADERS 1 "+fmt.Sprintf(fields, 0), "DATA 1 7 true", "HEADERS 3 "+fmt.Sprintf(fields, 1), "DATA 3 7 true")
	ask(t, s, p)
	if again := p.in.Len(); again > size/2-10 {
		t.Errorf("two requests take %d bytes, and the next %d", size, again)
	}
}

// A body goes as far as the windows of the stream and of the connection allow, and on when they
// are widened. An answer that comes before ends it.
func TestBodyWaits(t *testing.T) {
	s, p := started(t, http1.Request{URL: "http://host/", Body: make([]byte, 50_000)}, wire.Setting{ID: wire.SettingInitialWindowSize, Val: 20_000})
	p.in.Reset()
	for range 4 {
		ask(t, s, p)
	}
	var got []string
	for _, f := range p.frames(t) {
		if strings.HasPrefix(f, "DATA") {
			got = append(got, f)
		}
	}
	if want := "[DATA 1 16384 false DATA 1 3616 false DATA 3 16384 false DATA 3 3616 false DATA 5 16384 false DATA 5 3616 false DATA 7 5535 false]"; fmt.Sprint(got) != want {
		t.Errorf("%v, not %s", got, want)
	}
	_ = p.WriteWindowUpdate(3, 30_000)
	p.take(t, s)
	checkFrames(t, p) // the connection's window is empty
	_ = p.WriteWindowUpdate(0, 100_000)
	p.take(t, s)
	checkFrames(t, p, "DATA 3 16384 false", "DATA 3 13616 true", "DATA 7 14465 false")
	_ = p.WriteSettings(wire.Setting{ID: wire.SettingInitialWindowSize, Val: 25_000})
	p.take(t, s)
	checkFrames(t, p, "DATA 1 5000 false", "DATA 5 5000 false", "DATA 7 5000 false", "SETTINGS 0")
	p.head(1, true, ":status", "413")
	if got := p.take(t, s); len(got) != 1 || got[0].Slot != 0 || got[0].Status != 413 {
		t.Errorf("%v", got)
	}
	checkFrames(t, p, "RST_STREAM 1 CANCEL")
	_ = p.WriteWindowUpdate(1, 10_000)
	_ = p.WriteWindowUpdate(5, 100_000)
	p.take(t, s)
	checkFrames(t, p, "DATA 5 16384 false", "DATA 5 8616 true")
	p.in.Write(s.Cancel(nil, 3))
	checkFrames(t, p, "RST_STREAM 7 CANCEL")
}

// The service's windows are filled again when half of them has been used.
func TestWindowUpdates(t *testing.T) {
	s, p := started(t, http1.Request{})
	ask(t, s, p)
	p.in.Reset()
	p.head(1, false, ":status", "200")
	var got []string
	for range 40 << 20 / (16 << 10) {
		_ = p.WriteData(1, false, make([]byte, 16<<10))
		p.take(t, s)
		got = append(got, p.frames(t)...)
	}
	_ = p.WriteData(1, true, nil)
	if answers := p.take(t, s); len(answers) != 1 || answers[0].Body != 40<<20 {
		t.Errorf("%v", answers)
	}
	if want := "[WINDOW_UPDATE 1 8404992 WINDOW_UPDATE 1 8404992 WINDOW_UPDATE 1 8404992 WINDOW_UPDATE 0 33570816 WINDOW_UPDATE 1 8404992]"; fmt.Sprint(got) != want {
		t.Errorf("%v, not %s", got, want)
	}
	ask(t, s, p)
	p.head(3, false, ":status", "200")
	for range 16<<20/(16<<10) + 1 {
		_ = p.WriteData(3, false, make([]byte, 16<<10))
	}
	if _, err := s.Receive(p.out.Bytes(), &load.Answers{}); err != nil {
		t.Errorf("the windows are filled again as the data comes: %v", err)
	}
}

// The service's limits of streams are kept, and a connection has room again behind an answer, more
// settings, or a request that was given up.
func TestRoom(t *testing.T) {
	s, p := started(t, http1.Request{}, wire.Setting{ID: wire.SettingMaxConcurrentStreams, Val: 1})
	check := func(want bool, when string) {
		t.Helper()
		if s.Room() != want {
			t.Errorf("%s: room %v", when, !want)
		}
	}
	check(true, "at first")
	ask(t, s, p)
	check(false, "with one request")
	_ = p.WriteSettings(wire.Setting{ID: wire.SettingMaxConcurrentStreams, Val: 2})
	p.take(t, s)
	check(true, "with a larger limit")
	ask(t, s, p)
	check(false, "with two")
	s.Cancel(nil, 1)
	check(true, "with one given up")
	p.head(3, true, ":status", "200") // which was given up
	if got := p.take(t, s); len(got) != 0 {
		t.Errorf("%v", got)
	}
	p.head(1, true, ":status", "200")
	p.take(t, s)
	s.slot = 1<<30 - 1
	ask(t, s, p)
	check(false, "with the last stream that there is")
	p.head(1<<31-1, true, ":status", "200")
	var answers load.Answers
	if _, err := s.Receive(p.out.Bytes(), &answers); err != nil || !answers.Over || len(answers.List) != 1 {
		t.Errorf("%+v, %v", answers, err)
	}
}

// A smaller table of the service is kept to.
func TestSmallTable(t *testing.T) {
	s, p := started(t, http1.Request{UserAgent: "me"}, wire.Setting{ID: wire.SettingHeaderTableSize, Val: 0})
	p.in.Reset()
	for range 3 {
		ask(t, s, p)
	}
	decoder := hpack.NewDecoder(0, nil)
	for p.in.Len() > 0 {
		f, err := p.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if fields, err := decoder.DecodeFull(f.(*wire.HeadersFrame).HeaderBlockFragment()); err != nil || len(fields) != 6 {
			t.Errorf("%v, %v", fields, err)
		}
	}
}

// Slots may be left out, and the places of ended requests are used again.
func TestSlots(t *testing.T) {
	s, p := started(t, http1.Request{})
	for slot := range uint32(1000) {
		s.slot = 3 * slot
		ask(t, s, p)
		if slot >= 100 { // so many are under way
			p.head(2*3*(slot-100)+1, true, ":status", "200")
			if got := p.take(t, s); len(got) != 1 || got[0].Slot != 3*(slot-100) {
				t.Fatalf("%v", got)
			}
		}
	}
}

// A request and its answer do not allocate, but for what the reader of frames does for a head.
func TestDoesNotAllocate(t *testing.T) {
	s, p := started(t, http1.Request{URL: "http://host/{{rand 1 100}}", Body: []byte("hello")})
	var answers load.Answers
	r := &load.Request{}
	one := func() {
		slot := s.asking()
		*r = load.Request{Slot: slot, Number: int64(slot)}
		if err := s.Request(r); err != nil {
			t.Fatal(err)
		}
		p.out.Reset()
		p.head(2*slot+1, false, ":status", "200", "server", "x", "content-length", "5")
		_ = p.WriteData(2*slot+1, true, []byte("hello"))
		answers.Reset()
		if _, err := s.Receive(p.out.Bytes(), &answers); err != nil || len(answers.List) != 1 {
			t.Fatal(answers.List, err)
		}
	}
	for range 2000 { // all of the hundred heads are known then
		one()
	}
	if n := testing.AllocsPerRun(1000, one); n > 2 { // one is the test's
		t.Errorf("%v allocations", n)
	}
}

// FuzzReceive: no stream makes a session panic, whatever its cuts, and each request has one answer
// at most. The answers and the end do not depend on the cuts.
func FuzzReceive(f *testing.F) {
	for _, tc := range histories {
		p := newPeer()
		tc.write(p)
		if p.out.Len() < 2000 {
			f.Add(p.out.Bytes(), uint8(tc.asked), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, asked, step uint8) {
		asked %= 5
		p := newPeer()
		_ = p.WriteSettings()
		p.out.Write(stream)
		var results [2]string
		for i, size := range []int{1 << 20, 1 + int(step)} {
			s := session(codec(t, http1.Request{URL: "http://host/", Body: make([]byte, 1000)}))
			got, how := feed(s, int(asked), p.out.Bytes(), behindSettings(func(left int) int { return min(left, size) }))
			seen := map[uint32]bool{}
			for _, a := range got {
				if a.Match != load.BySlot || a.Slot >= uint32(asked) || seen[a.Slot] {
					t.Fatalf("%q: %+v", stream, got)
				}
				seen[a.Slot] = true
			}
			results[i] = fmt.Sprint(got, how)
		}
		if results[0] != results[1] {
			t.Fatalf("%q: %s, and in parts %s", stream, results[0], results[1])
		}
	})
}
