package nats

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"paddock/load"
)

// said lists output of a server with the parsed result.
var said = []struct{ in, want string }{
	{"INFO {\"max_payload\":1}\r\n", `info {"max_payload":1}`},
	{"PING\r\n", "ping"},
	{"pong\r\n", "pong"},
	{"PONG\n", "pong"},
	{"+OK\r\n", "ok"},
	{"-ERR 'Permissions Violation for Publish to \"a\"'\r\n", `err Permissions Violation for Publish to "a"`},
	{"MSG foo 1 2\r\nok\r\n", "msg foo    ok"},
	{"MSG foo.bar 17 _INBOX.1 0\r\n\r\n", "msg foo.bar _INBOX.1   "},
	{"MSG  foo\t1\r\n", "!"},
	{"msg foo 1  2\r\nok\r\n", "msg foo    ok"},
	{"HMSG foo 1 12 14\r\nNATS/1.0\r\n\r\nok\r\n", "msg foo  NATS/1.0  ok"},
	{"HMSG foo 1 r 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", "msg foo r NATS/1.0 503  "},
	{"HMSG foo 1 3 2\r\nabc\r\n", "!"},
	{"MSG foo 1 2\r\nokk\n", "!"},
	{"MSG foo 1 x\r\n", "!"},
	{"MSG foo 1 99999999999\r\n", "!"},
	{"MSG foo 1 a b 2\r\nok\r\n", "!"},
	{"HTTP/1.1 400 Bad Request\r\n", "!"},
	{strings.Repeat("x", maxLine+1), "!"},
}

func text(op Operation) string {
	switch op.Kind {
	case KindInfo:
		return "info " + string(op.Text)
	case KindErr:
		return "err " + string(op.Text)
	case KindMessage:
		return fmt.Sprintf("msg %s %s %s %s", op.Subject, op.Reply, strings.ReplaceAll(string(op.Header), "\r\n", ""), op.Payload) + strings.Repeat("+", op.Rest)
	}
	return map[Kind]string{KindPing: "ping", KindPong: "pong", KindOK: "ok"}[op.Kind]
}

func TestNext(t *testing.T) {
	for _, tc := range said {
		op, n, err := Next([]byte(tc.in))
		got := text(op)
		if err != nil {
			got = "!"
		} else if n != len(tc.in) {
			t.Errorf("%.60q: %d of %d bytes", tc.in, n, len(tc.in))
		}
		if squeeze(got) != squeeze(tc.want) {
			t.Errorf("%.60q: %q, want %q", tc.in, got, tc.want)
		}
		if err != nil {
			continue
		}
		for i := range tc.in {
			if op, n, err := Next([]byte(tc.in[:i])); n != 0 && op.Kind != KindMessage || err != nil {
				t.Errorf("%q: %d, %v", tc.in[:i], n, err)
			}
		}
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Of a long message the beginning is enough, and the rest is told.
func TestNextLong(t *testing.T) {
	in := append([]byte("MSG foo 1 1000\r\n"), bytes.Repeat([]byte{'x'}, 50)...)
	op, n, err := Next(in)
	if err != nil || n != len(in) || op.Size != 1000 || len(op.Payload) != 50 || op.Rest != 952 {
		t.Errorf("%d of %d, %+v, %v", n, len(in), op, err)
	}
}

func TestStatusOf(t *testing.T) {
	for header, want := range map[string]uint16{
		"NATS/1.0\r\n\r\n":                 0,
		"NATS/1.0 503\r\n\r\n":             503,
		"NATS/1.0 404 No Messages\r\n\r\n": 404,
		"NATS/1.0\r\nNats-Service-Error-Code: 400\r\nNats-Service-Error: no\r\n\r\n": 400,
		"":           0,
		"NATS/1.0 x": 0,
	} {
		if got := statusOf([]byte(header)); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
}

// script is a conversation with all that a subscriber of a run of its own may hear.
func script(c *Codec) []byte {
	var b bytes.Buffer
	b.WriteString("INFO {\"headers\":true}\r\nPONG\r\nPING\r\n")
	payload := make([]byte, 100)
	for n := range uint64(20) {
		s := stamp{run: c.run, publisher: 1, number: n + 1}
		s.put(payload)
		fmt.Fprintf(&b, "MSG foo 1 %d\r\n%s\r\n", len(payload), payload)
	}
	fmt.Fprintf(&b, "HMSG foo 1 12 %d\r\nNATS/1.0\r\n\r\n%s\r\n", 12+len(payload), payload) // once more
	b.WriteString("MSG foo 1 3\r\nabc\r\nPING\r\n")
	return b.Bytes()
}

func prepared(t testing.TB, c *Codec) *Codec {
	t.Helper()
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Any split of the stream gives the same answers, and the same account.
func TestSplits(t *testing.T) {
	for size := 1; size < 300; size++ {
		c := prepared(t, &Codec{Do: PubSub, Subject: "foo", Listeners: 1, Bodies: [][]byte{make([]byte, 100)}})
		s := newSubscriber(c, 0)
		var kept, reply []byte
		n := 0
		for in := script(c); len(in) > 0; {
			k := min(size, len(in))
			kept, in = append(kept, in[:k]...), in[k:]
			var answers load.Answers
			used, err := s.Receive(kept, &answers)
			if err != nil {
				t.Fatal(err)
			}
			kept = append([]byte(nil), kept[used:]...)
			n += len(answers.List)
			reply = append(reply, answers.Reply...)
		}
		a := c.Account()
		if n != 20 || len(kept) != 0 || a != (Account{Delivered: 20, Doubled: 1, Foreign: 1}) || s.skip != 0 {
			t.Fatalf("pieces of %d: %d answers, %d bytes left, %+v", size, n, len(kept), a)
		}
		if !bytes.HasPrefix(reply, []byte("CONNECT {")) || !bytes.HasSuffix(reply, []byte("}\r\nSUB foo 1\r\nPING\r\nPONG\r\nPONG\r\n")) {
			t.Fatalf("pieces of %d: %q", size, reply)
		}
	}
}

func FuzzReceive(f *testing.F) {
	for _, tc := range said {
		f.Add([]byte("INFO {}\r\nPONG\r\n" + tc.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, do := range []Do{Publish, PubSub, Request} {
			c := &Codec{Do: do, Subject: "foo", Listeners: 1, Bodies: [][]byte{make([]byte, StampSize)}}
			if err := c.Prepare(); err != nil {
				t.Fatal(err)
			}
			for _, s := range []load.Session{thread{c}.Session(), thread{c}.Listener(0)} {
				var answers load.Answers
				used, _ := s.Receive(in, &answers)
				if used < 0 || used > len(in) {
					t.Fatalf("%d of %d bytes", used, len(in))
				}
			}
		}
	})
}

func TestReaderDoesNotAllocate(t *testing.T) {
	in := append([]byte("MSG foo.bar 1 _INBOX.7 100\r\n"), append(make([]byte, 100), crlf...)...)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := Next(in); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
}

// A read costs the same whether it brings a message or hundreds.
func TestReceiveDoesNotAllocate(t *testing.T) {
	c := prepared(t, &Codec{Do: PubSub, Subject: "foo", Listeners: 1, Bodies: [][]byte{make([]byte, 100)}})
	s := newSubscriber(c, 0)
	in := script(c)
	var answers load.Answers
	if n := testing.AllocsPerRun(100, func() {
		answers.Reset()
		answers.Now = 1
		s.stage = isReady
		if _, err := s.Receive(in[len("INFO {\"headers\":true}\r\nPONG\r\n"):], &answers); err != nil {
			t.Fatal(err)
		}
	}); n > 4 {
		t.Errorf("%v allocations for 22 messages", n)
	}
}

// BenchmarkDeliveries measures the cost of a message of 128 bytes to a listener.
func BenchmarkDeliveries(b *testing.B) {
	c := prepared(b, &Codec{Do: PubSub, Subject: "foo", Listeners: 1, Bodies: [][]byte{make([]byte, 128)}})
	s := newSubscriber(c, 0)
	s.stage = isReady
	const each = 512
	payload := make([]byte, 128)
	var in []byte
	var answers load.Answers
	number := uint64(0)
	for b.Loop() {
		in = in[:0]
		for range each {
			number++
			m := stamp{run: c.run, publisher: 1, number: number}
			m.put(payload)
			in = append(append(append(in, "MSG foo 1 128\r\n"...), payload...), crlf...)
		}
		answers.Reset()
		answers.Now = 1
		if _, err := s.Receive(in, &answers); err != nil || len(answers.List) != each {
			b.Fatal(len(answers.List), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/each, "ns/message")
}
