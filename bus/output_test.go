package bus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// frames splits a stream, and fails where it is broken.
func frames(t *testing.T, stream []byte) (list []string) {
	t.Helper()
	for len(stream) > 0 {
		if end := bytes.Index(stream, lineEnd); end < 0 {
			t.Fatalf("a broken frame at the end: %q", stream)
		}
		size, _, line := frameSize(stream)
		if size > len(stream) || string(stream[size-2:size]) != crlf ||
			line == nil && !bytes.HasPrefix(stream, []byte("PONG")) {
			t.Fatalf("a broken frame: %q", stream[:min(len(stream), 100)])
		}
		list = append(list, string(stream[:size]))
		stream = stream[size:]
	}
	return list
}

// Random appends, partial writes and drops: the output is whole frames in order. It has every frame
// that is not a message, and all messages except the ones counted as dropped.
func TestOutputAgainstModel(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var o output
		var sent []byte
		var want []string // that are to come, in order
		dropped, total := 0, 0
		write := func(n int) {
			if !o.next() {
				return
			}
			n = min(n, len(o.inFlight.unwritten()))
			sent = append(sent, o.inFlight.unwritten()[:n]...)
			o.wrote(n)
		}
		for i := range 400 {
			switch rng.IntN(8) {
			case 0:
				o.append(pongLine)
				want = append(want, string(pongLine))
			case 1:
				write(rng.IntN(20 << 10))
			case 2:
				old := o.pending
				over, may := rng.IntN(30<<10), func(line []byte) bool { return !bytes.Contains(line, []byte(" keep ")) }
				can := o.canDrop(over, may)
				n, _, gone := o.dropOldest(over, may)
				if can != (gone >= over) {
					t.Fatalf("seed %d: %d of %d bytes were dropped, and canDrop says %v", seed, gone, over, can)
				}
				if o.pending != old-int64(gone) {
					t.Fatalf("%d pending, were %d, %d dropped", o.pending, old, gone)
				}
				dropped += n
			default:
				body := strings.Repeat("x\n", rng.IntN(3<<10))
				if rng.IntN(20) == 0 {
					body = strings.Repeat("y", largeSlab)
				}
				sid := []string{"1", "keep"}[rng.IntN(4)/3]
				f := fmt.Sprintf("MSG m%d %s %d\r\n%s\r\n", i, sid, len(body), body)
				o.append([]byte(f[:5]), []byte(f[5:]))
				want = append(want, f)
				total++
			}
		}
		for o.next() {
			write(len(o.inFlight.unwritten()))
		}
		if o.pending != 0 || o.tail != nil || len(o.slabs) != 0 {
			t.Fatalf("%d pending at the end, %d slabs", o.pending, len(o.slabs))
		}
		got := frames(t, sent)
		at, messages := 0, 0
		for _, f := range got {
			for at < len(want) && want[at] != f { // these must have been dropped
				if !strings.HasPrefix(want[at], "MSG ") || strings.Contains(want[at], " keep ") {
					t.Fatalf("seed %d: lost %q", seed, want[at][:20])
				}
				at++
			}
			if at == len(want) {
				t.Fatalf("seed %d: %q is out of order", seed, f[:20])
			}
			at++
			if f[0] == 'M' {
				messages++
			}
		}
		if messages+dropped != total {
			t.Errorf("seed %d: %d sent and %d dropped of %d", seed, messages, dropped, total)
		}
	}
}

// Messages that may not be dropped are looked at once, and not for each message that finds no room.
func TestKeptMessagesAreLookedAtOnce(t *testing.T) {
	var o output
	body := strings.Repeat("x", 1<<10)
	frame := func(sid string) []byte { return fmt.Appendf(nil, "MSG a %s %d\r\n%s\r\n", sid, len(body), body) }
	asked := 0
	may := func(line []byte) bool {
		asked++
		return !bytes.Contains(line, []byte(" keep "))
	}
	const count = 1000
	for range count {
		o.append(frame("keep"))
	}
	for range count {
		if o.canDrop(1, may) {
			t.Fatal("a message may be dropped")
		}
	}
	if asked != count {
		t.Errorf("%d questions about %d messages", asked, count)
	}
	for range count {
		o.append(frame("1"))
		if asked = 0; !o.canDrop(1, may) || asked != 1 {
			t.Fatalf("after %d questions nothing may be dropped", asked)
		}
		if n, _, _ := o.dropOldest(1, may); n != 1 || asked != 2 {
			t.Fatalf("%d messages were dropped after %d questions", n, asked)
		}
	}
	if o.pending != int64(count*len(frame("keep"))) {
		t.Errorf("%d bytes are pending", o.pending)
	}
}

func TestFrameSize(t *testing.T) {
	for in, want := range map[string]int{
		"PONG\r\nMSG":                     6,
		"MSG a 1 3\r\nabc\r\nPONG":        16,
		"HMSG a 1 r 2 4\r\nabcd\r\nx":     22,
		"-ERR 'MSG'\r\nMSG a 1 0\r\n\r\n": 12,
		"MSG \na 1 1\r\nx\r\nPONG":        15,
	} {
		if got, _, _ := frameSize([]byte(in)); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
	if !slices.Equal(frames(t, []byte("MSG a 1 0\r\n\r\nPONG\r\n")), []string{"MSG a 1 0\r\n\r\n", "PONG\r\n"}) {
		t.Error("frames")
	}
	status := "HMSG r 1 33 33\r\nNATS/1.0 503\r\nNats-Subject: a\r\n\r\n\r\n"
	if size, _, line := frameSize([]byte(status + "PONG\r\n")); size != len(status) || line != nil {
		t.Errorf("the broker's own answer: %d bytes of %d, %q", size, len(status), line)
	}
	if new(writer).mayDrop([]byte("MSG")) {
		t.Error("a line without a subscription may be dropped")
	}
}

// Clients that do not keep up share equal output. A client that drops or writes a part of it
// changes nothing for the others.
func TestSharedText(t *testing.T) {
	whole := newSharedText()
	whole.buf = make([]byte, 0, 48)
	for i := range 3 {
		whole.buf = fmt.Appendf(whole.buf, "MSG a %d 1\r\n%d\r\n", i, i)
	}
	want := string(whole.buf)
	var one, other, free output
	one.blocking, other.blocking = true, true
	if !one.share(whole) || !other.share(whole) || free.share(whole) {
		t.Fatal("who is stuck shares, and nobody else")
	}
	if whole.refs.Load() != 3 {
		t.Fatalf("%d references", whole.refs.Load())
	}
	messages, _, _ := one.dropOldest(1, func(line []byte) bool { return string(line) == "MSG a 1 1" })
	if messages != 1 || string(one.slabs[0].unwritten()) != want[:14]+want[28:] {
		t.Errorf("%d dropped, left %q", messages, one.slabs[0].unwritten())
	}
	if got := string(other.slabs[0].unwritten()); got != want {
		t.Errorf("the other one has %q", got)
	}
	other.next()
	other.wrote(len(want))
	if whole.refs.Load() != 1 || other.pending != 0 {
		t.Errorf("%d references, %d bytes pending", whole.refs.Load(), other.pending)
	}
	whole.buf = whole.buf[:10] // much room is left: not worth keeping for so little
	if other.share(whole) {
		t.Error("shared 10 of 48 bytes")
	}
}
