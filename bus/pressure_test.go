package bus_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"paddock/bus"
)

// stall opens a subscriber that never reads after its PONG.
func stall(t *testing.T, s *bus.Server, pattern string, readBuffer int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(readBuffer); err != nil {
		t.Fatal(err)
	}
	stallOn(t, conn, pattern)
	return conn
}

// stallOn subscribes on a connection, and never reads after the PONG.
func stallOn(t *testing.T, conn net.Conn, pattern string) {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	line := func() (text string) {
		for !strings.HasSuffix(text, "\n") {
			b := make([]byte, 1)
			if _, err := conn.Read(b); err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	line() // INFO: a pipe takes nothing before it has been read
	if _, err := io.WriteString(conn, "CONNECT {\"verbose\":false}\r\nSUB "+pattern+" 1\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	for line() != "PONG\r\n" { //nolint:revive // until it comes
	}
}

// Two subscribers never read: they are closed at max_pending, and the others
// get every message, in order.
func TestSlowConsumersAreClosedAndOthersGoOn(t *testing.T) {
	const maxPending, size, count = 1 << 20, 16 << 10, 2000
	s := startServer(t, bus.Config{MaxPending: maxPending, MaxPayload: 64 << 10})
	for range 2 {
		stall(t, s, "a.>", 4<<10)
	}
	var healthy []*peer
	for range 3 {
		p := dialPeer(t, s)
		p.write("CONNECT {\"verbose\":false}\r\nSUB a.* 1\r\n")
		p.sync()
		healthy = append(healthy, p)
	}
	body := strings.Repeat("x", size)
	before := heap()
	l := s.Local("publisher")
	peak := uint64(0)
	for i := range count {
		if err := l.Publish("a.b", "", nil, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if i%16 == 15 { // pace the publisher by the fast subscribers
			for n, p := range healthy {
				if got := len(p.sync()); got != 16 {
					t.Fatalf("healthy subscriber %d got %d of 16 messages", n, got)
				}
			}
			peak = max(peak, heap())
		}
	}
	st := s.Stats()
	if st.SlowConsumers != 2 || st.Closed[bus.SlowConsumerPendingBytes] != 2 {
		t.Errorf("slow consumers: %+v", st)
	}
	if st.InMsgs != count {
		t.Errorf("in: %d", st.InMsgs)
	}
	// 31 MiB went by; two stalled connections may hold max_pending and the cost of a growing
	// buffer.
	if limit := before + 8*maxPending; peak > limit {
		t.Errorf("the heap grew from %d to %d bytes", before, peak)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The answers to a client that never reads are bounded as well, under each policy.
func TestEndlessPingsOfOneThatDoesNotRead(t *testing.T) {
	for _, policy := range []bus.SlowPolicy{bus.SlowClose, bus.SlowDropNew, bus.SlowDropOld} {
		s := startServer(t, bus.Config{MaxPending: 64 << 10, MaxPayload: 1 << 10, SlowConsumers: policy})
		// With less than a few segments of room the kernel drops received segments, and with them
		// the acknowledgements of sent ones. Both directions then creep.
		conn := stall(t, s, "a", 256<<10)
		pings := []byte(strings.Repeat("PING\r\n", 4096))
		conn.SetWriteDeadline(time.Now().Add(patience))
		for {
			if _, err := conn.Write(pings); err != nil {
				break // closed by the server
			}
		}
		if st := s.Stats(); st.Closed[bus.SlowConsumerPendingBytes] != 1 {
			t.Errorf("%v: closed: %v", policy, st.Closed)
		}
	}
}

// Input without end on the port: the server answers, closes, and keeps nothing.
func TestEndlessGarbage(t *testing.T) {
	for name, tc := range map[string]struct {
		begin, more string
		want        string
		reason      bus.CloseReason
	}{
		"a line without end":    {"PUB ", "xxxxxxxx", "-ERR 'maximum control line exceeded'\r\n", bus.MaxControlLineExceeded},
		"zeros":                 {"\x00", "\x00\x00\x00\x00", "-ERR 'Unknown Protocol Operation'\r\n", bus.ProtocolViolation},
		"more than the payload": {"PUB a 999999999\r\n", "xxxxxxxx", "-ERR 'Maximum Payload Violation'\r\n", bus.MaxPayloadExceeded},
		"another protocol":      {"\x16\x03\x01\x02\x00\x01", "\x00\xfc\x03\x03", "-ERR 'Unknown Protocol Operation'\r\n", bus.ProtocolViolation},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, configForTest)
			p := dialPeer(t, s)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				chunk := []byte(strings.Repeat(tc.more, 4<<10))
				_, err := io.WriteString(p.conn, tc.begin)
				for err == nil { // until the server hangs up
					_, err = p.conn.Write(chunk)
				}
			}()
			p.expect(name, tc.want)
			for p.more() { //nolint:revive // to the end
			}
			<-sent
			if st := s.Stats(); len(p.buf) > 0 || st.Closed[tc.reason] != 1 {
				t.Errorf("then %q, closed %v", p.buf, st.Closed)
			}
		})
	}
}

// PING without end of line is ignored without keeping it, and so are blanks before
// arguments: the connection lives on after them.
func TestEndlessPingLine(t *testing.T) {
	for name, tc := range map[string]struct{ begin, more, end string }{
		"rest of a PING":          {"PING", "x", "\r\n"},
		"blanks before arguments": {"SUB ", " ", "foo 1\r\nPING\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, configForTest)
			p := dialPeer(t, s)
			before := heap()
			p.write("CONNECT {\"verbose\":false}\r\n%s", tc.begin)
			for range 256 {
				p.write("%s", strings.Repeat(tc.more, 32<<10))
			}
			p.write("%s", tc.end)
			p.expect("ping", "PONG\r\n")
			if after := heap(); after > before+2<<20 {
				t.Errorf("8 MiB of %s grew the heap from %d to %d", name, before, after)
			}
		})
	}
}

// A partial payload takes no memory by its announced size.
func TestAnnouncedSizeTakesNoMemory(t *testing.T) {
	s := startServer(t, bus.Config{MaxPayload: 48 << 20})
	before := heap()
	for range 20 {
		p := dialPeer(t, s)
		p.write("CONNECT {\"verbose\":false}\r\nPING\r\nPUB a %d\r\nx", 48<<20)
		p.expect("ping", "PONG\r\n")
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("20 announced payloads grew the heap from %d to %d", before, after)
	}
}

// The cost of patterns that match in every way grows with their number, not with their
// combinations.
func TestWildcardBombs(t *testing.T) {
	const tokens, deep = 12, 1000
	s := startServer(t, configForTest)
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n")
	for i := range 1 << tokens {
		pattern := make([]string, tokens)
		for k := range pattern {
			if pattern[k] = "a"; i>>k&1 == 1 {
				pattern[k] = "*"
			}
		}
		p.write("SUB %s %d\r\n", strings.Join(pattern, "."), i)
	}
	p.write("SUB %s> %d\r\n", strings.Repeat("*.", deep), 1<<tokens)
	p.write("PUB %sa 0\r\n\r\n", strings.Repeat("a.", tokens-1))
	if got := len(p.sync()); got != 1<<tokens {
		t.Errorf("%d of %d patterns got the message", got, 1<<tokens)
	}
	p.write("PUB %sa 0\r\n\r\n", strings.Repeat("a.", deep))
	if got := p.sync(); len(got) != 1 || got[0] != 1<<tokens {
		t.Errorf("%v got the long subject", got)
	}
}

// A thousand subscribers that never read cost no more than a thousand times the bound, under each
// policy, and a subscriber that reads gets everything.
func TestThousandSlowConsumers(t *testing.T) {
	const conns, maxPending, size, count = 1000, 128 << 10, 4 << 10, 160
	for _, policy := range []bus.SlowPolicy{bus.SlowClose, bus.SlowDropNew, bus.SlowDropOld} {
		t.Run(policy.String(), func(t *testing.T) {
			s := startServer(t, bus.Config{MaxPending: maxPending, MaxPayload: 64 << 10, SlowConsumers: policy, WriteDeadline: time.Hour})
			for range conns { // in process, where no kernel holds megabytes for each
				conn, err := s.InProcessConn()
				if err != nil {
					t.Fatal(err)
				}
				stallOn(t, conn, "a.>")
			}
			healthy := dialPeer(t, s)
			healthy.write("CONNECT {\"verbose\":false}\r\nSUB a.* 1\r\n")
			healthy.sync()
			publisher := dialPeer(t, s)
			publisher.write("CONNECT {\"verbose\":false}\r\n")
			before, peak := heap(), uint64(0)
			body := strings.Repeat("x", size)
			for i := range count {
				publisher.write("PUB a.b %d\r\n%s\r\n", size, body)
				if i%16 == 15 {
					publisher.sync()
					if got := len(healthy.sync()); got != 16 {
						t.Fatalf("the healthy one got %d of 16 messages", got)
					}
				}
				if i%40 == 39 {
					peak = max(peak, heap())
				}
			}
			st := s.Stats()
			if closed := st.Closed[bus.SlowConsumerPendingBytes]; policy == bus.SlowClose && closed != conns || policy != bus.SlowClose && (closed > 0 || st.Dropped < conns) {
				t.Errorf("%d closed, %d messages dropped", closed, st.Dropped)
			}
			// The pending bytes, and the rest of the two buffers in which they begin and end.
			if most := before + conns*(maxPending+(256<<10)); peak > most {
				t.Errorf("the heap grew from %d to %d MiB", before>>20, peak>>20)
			}
		})
	}
}
