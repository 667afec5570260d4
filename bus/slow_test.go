package bus_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/bus"
)

// received parses the stream of a raw connection to the PONG number pongs, and
// returns the first words of the messages' payloads. It fails at a broken frame.
func received(t *testing.T, p *peer, pongs int) (ids []int) {
	t.Helper()
	for {
		line := p.line()
		if line == "PONG\r\n" {
			if pongs--; pongs == 0 {
				return ids
			}
			continue
		}
		if line == "PING\r\n" {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "MSG" || !strings.HasSuffix(line, crlf) {
			t.Fatalf("a broken frame: %q", line)
		}
		size, _ := strconv.Atoi(f[3])
		body := p.take(size + len(crlf))
		id, err := strconv.Atoi(strings.TrimLeft(body[:8], "0 "))
		if err != nil || !strings.HasSuffix(body, crlf) {
			t.Fatalf("a broken payload: %q", body)
		}
		ids = append(ids, id)
	}
}

const crlf = "\r\n"

// Two subscribers stall, others do not: under both policies that drop, those get
// everything, memory is bounded, frames stay whole, and the counts add up.
func TestDropPolicies(t *testing.T) {
	const count, size, maxPending, stalled, healthy = 3000, 4 << 10, 256 << 10, 2, 3
	for _, policy := range []bus.SlowPolicy{bus.SlowDropNew, bus.SlowDropOld} {
		t.Run(policy.String(), func(t *testing.T) {
			s := startServer(t, bus.Config{MaxPending: maxPending, MaxPayload: 64 << 10, SlowConsumers: policy})
			var slow, well []*peer
			for range stalled {
				conn := stall(t, s, "a", 256<<10) // with less, reading it later would creep
				for range 10 {                    // their answers are never dropped
					io.WriteString(conn, "PING\r\n")
				}
				slow = append(slow, &peer{t: t, conn: conn, in: make(chan []byte, 64), wait: patience})
			}
			for range healthy {
				p := dialPeer(t, s)
				p.write("CONNECT {\"verbose\":false}\r\nSUB a 1\r\n")
				p.sync()
				well = append(well, p)
			}
			l := s.Local("publisher")
			before, peak := heap(), uint64(0)
			pad := strings.Repeat("x", size-8)
			for i := range count {
				publish(t, l, "a", fmt.Sprintf("%08d%s", i+1, pad))
				if i%30 == 29 {
					for n, p := range well {
						if got := len(p.sync()); got != 30 {
							t.Fatalf("healthy subscriber %d got %d of 30 messages", n, got)
						}
					}
				}
				if i%500 == 499 {
					peak = max(peak, heap())
				}
			}
			if limit := before + (stalled+healthy)*2*maxPending + 2<<20; peak > limit {
				t.Errorf("the heap grew from %d to %d bytes", before, peak)
			}
			got := 0
			for _, p := range slow {
				go p.pump()
				p.write("PING\r\n")
				ids := received(t, p, 11)
				for i := 1; i < len(ids); i++ {
					if ids[i] <= ids[i-1] {
						t.Fatalf("message %d after %d", ids[i], ids[i-1])
					}
				}
				if policy == bus.SlowDropOld && ids[len(ids)-1] != count {
					t.Errorf("the newest message was dropped: the last is %d", ids[len(ids)-1])
				}
				if len(ids) == count {
					t.Error("nothing was dropped: the test says nothing")
				}
				got += len(ids)
				p.close()
			}
			st := s.Stats()
			if st.InMsgs != count || st.OutMsgs != uint64(healthy*count+got) || st.OutBytes != st.OutMsgs*size ||
				st.OutMsgs+st.Dropped != count*(healthy+stalled) || st.SlowConsumers != 0 {
				t.Errorf("%d came; %+v", got, st)
			}
		})
	}
}

// A publisher waits for a stalled subscriber for a bounded time, and only until that one is closed.
func TestStallPolicyIsBounded(t *testing.T) {
	s := startServer(t, bus.Config{MaxPending: 1 << 20, MaxPayload: 64 << 10, SlowConsumers: bus.SlowStall})
	stall(t, s, "a", 4<<10)
	l := s.Local("publisher")
	body := strings.Repeat("x", 32<<10)
	for range 1000 {
		publish(t, l, "a", body)
	}
	if st := s.Stats(); st.InMsgs != 1000 || st.Closed[bus.SlowConsumerPendingBytes] != 1 {
		t.Errorf("%+v", st)
	}
}

// A publisher that holds back while its clients are congested closes none that reads, though it
// sends many times the bytes that may wait for one. It does not hold back for a client that does
// not read, which is closed as ever.
func TestCongestionSparesClientsThatRead(t *testing.T) {
	const batches, each, size = 1000, 16, 4 << 10
	s := startServer(t, bus.Config{MaxPending: 8 << 20, MaxPayload: 64 << 10})
	stall(t, s, "a", 4<<10)
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false}\r\nSUB a 1\r\n")
	p.sync()
	l := s.Local("publisher")
	var batch []bus.Msg
	for range each {
		batch = append(batch, bus.Msg{Subject: "a", Data: make([]byte, size)})
	}
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for range batches {
			for l.Congested() {
				runtime.Gosched()
			}
			_ = l.PublishBatch(batch) // an error if the test has failed
		}
	})
	defer publishing.Wait()
	for range batches * each {
		line := p.line()
		for line == "PING\r\n" {
			line = p.line()
		}
		if !strings.HasPrefix(line, "MSG a 1 ") {
			t.Fatalf("a line that begins %.40q", line)
		}
		p.take(size + len(crlf))
	}
	publishing.Wait()
	if st := s.Stats(); st.SlowConsumers != 1 {
		t.Errorf("%d clients were closed as slow, want the one that does not read", st.SlowConsumers)
	}
	if l.Congested() {
		t.Error("congested, and nothing is pending")
	}
}

// A maximum is exact, however many publish at the same time.
func TestUnsubscribeMaxIsExactUnderParallelPublishers(t *testing.T) {
	const publishers, each, limit = 4, 2000, 777
	for _, cfg := range []bus.Config{{}, {MaxPending: 64 << 10, MaxPayload: 1 << 10, SlowConsumers: bus.SlowDropNew}} {
		s := startServer(t, cfg)
		sub := dialPeer(t, s)
		sub.write("CONNECT {\"verbose\":false}\r\nSUB a 1\r\nUNSUB 1 %d\r\nSUB a q 2\r\nUNSUB 2 %d\r\n", limit, limit)
		sub.sync()
		var sending sync.WaitGroup
		batch := []byte(strings.Repeat("PUB a 16\r\n0123456789abcdef\r\n", each))
		for range publishers {
			p := dialPeer(t, s)
			p.write("CONNECT {\"verbose\":false}\r\n")
			sending.Go(func() {
				p.conn.Write(batch)
				p.sync()
			})
		}
		sending.Wait()
		count := make(map[int]int)
		for _, sid := range sub.sync() {
			count[sid]++
		}
		if count[1] != limit || count[2] != limit {
			t.Errorf("%v messages, want %d each", count, limit)
		}
		if st := s.Stats(); st.Subscriptions != 0 || st.OutMsgs != 2*limit {
			t.Errorf("%+v", st)
		}
	}
}

// stalled opens a subscriber within the process, where no kernel holds bytes, that does not read.
func stalled(t *testing.T, s *bus.Server, pattern string) net.Conn {
	t.Helper()
	conn := must[net.Conn](t)(s.InProcessConn())
	stallOn(t, conn, pattern)
	for s.PendingBytes() > 0 { // the PONG may still be counted
		runtime.Gosched()
	}
	return conn
}

// Old messages are kept if dropping all of them makes no room.
func TestDropOldDropsNothingInVain(t *testing.T) {
	const count, most = 100, 256 << 10
	s := startServer(t, bus.Config{MaxPending: most, MaxPayload: most, SlowConsumers: bus.SlowDropOld, WriteDeadline: time.Hour})
	conn := stalled(t, s, "a")
	l := s.Local("publisher")
	for i := range count {
		publish(t, l, "a", fmt.Sprintf("%08d%s", i+1, strings.Repeat("x", 1<<10)))
	}
	publish(t, l, "a", fmt.Sprintf("%08d%s", count+1, strings.Repeat("x", most-8)))
	p := newPeer(t, conn)
	p.write("PING\r\n")
	if ids := received(t, p, 1); len(ids) != count || ids[0] != 1 {
		t.Errorf("%d of %d messages came", len(ids), count)
	}
	if st := s.Stats(); st.DroppedOld != 1 || st.OutMsgs != count {
		t.Errorf("%+v", st)
	}
}

// A message that was dropped is not one of those after which a subscription ends.
func TestDropOldCountsNoDeliveryOfTheSubscription(t *testing.T) {
	const count, limit = 200, 150
	s := startServer(t, bus.Config{MaxPending: 64 << 10, MaxPayload: 32 << 10, SlowConsumers: bus.SlowDropOld, WriteDeadline: time.Hour})
	conn := stalled(t, s, "a")
	l := s.Local("publisher")
	for i := range count {
		publish(t, l, "a", fmt.Sprintf("%08d%s", i+1, strings.Repeat("x", 1<<10)))
	}
	st := s.Stats()
	list, _ := s.Subscriptions("a", 0, 1)
	if st.DroppedOld == 0 || st.OutMsgs >= limit || len(list) != 1 || list[0].Delivered != st.OutMsgs {
		t.Fatalf("%+v; %+v", list, st)
	}
	p := newPeer(t, conn)
	p.write("UNSUB 1 %d\r\nPING\r\n", limit)
	came := len(received(t, p, 1))
	for i := range count {
		publish(t, l, "a", fmt.Sprintf("%08d", i+1))
	}
	p.write("PING\r\n")
	if came += len(received(t, p, 1)); came != limit {
		t.Errorf("%d messages came before the end, want %d", came, limit)
	}
}

// An answer of a few bytes does not close a client whose pending bytes are at their bound, under
// the policies that drop.
func TestDropPoliciesHaveRoomForAnswers(t *testing.T) {
	const most, size = 64 << 10, 4 << 10
	body := strings.Repeat("x", size-len("MSG a 1 4080\r\n\r\n")-8)
	for _, policy := range []bus.SlowPolicy{bus.SlowDropNew, bus.SlowDropOld} {
		t.Run(policy.String(), func(t *testing.T) {
			s := startServer(t, bus.Config{MaxPending: most, MaxPayload: most, SlowConsumers: policy, WriteDeadline: time.Hour})
			conn := stalled(t, s, "a")
			l := s.Local("publisher")
			for i := range most / size {
				publish(t, l, "a", fmt.Sprintf("%08d%s", i+1, body))
			}
			if n := s.PendingBytes(); n != most {
				t.Fatalf("%d bytes are pending, want %d", n, most)
			}
			p := &peer{t: t, conn: conn, in: make(chan []byte, 64), wait: patience}
			for range 100 { // each is read when the one before has been handled
				p.write("PING\r\n")
			}
			publish(t, l, "a", fmt.Sprintf("%08d%s", most/size+1, body))
			go p.pump()
			t.Cleanup(p.close)
			p.write("PING\r\n")
			came := len(received(t, p, 101))
			if st := s.Stats(); st.SlowConsumers != 0 || st.Dropped == 0 || came > most/size || came < most/size-2 {
				t.Errorf("%d messages came; %+v", came, st)
			}
		})
	}
}
