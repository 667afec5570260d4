package natsload

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// session is output of a server with every kind of line in it.
const session = "INFO {\"max_payload\":1048576} \r\nPONG\r\n" +
	"MSG foo 1 5\r\nhello\r\nMSG foo 1 5\r\nhello\r\nPING\r\n" +
	"MSG foo 1 5\r\nMSG f\r\nMSG a.b 12 reply.to 0\r\n\r\n" +
	"MSG foo 1 4\r\n\r\n\r\n\r\nHMSG foo 1 12 15\r\nNATS/1.0\r\n\r\nabc\r\n+OK\r\nPONG\r\n"

type tallies struct{ messages, bytes, pings, pongs int64 }

var sessionTallies = tallies{6, 34, 1, 2}

func (c *Counter) tallies() tallies { return tallies{c.Messages, c.Bytes, c.Pings, c.Pongs} }

// Every split in two gives the same counts, and every split in three that has a
// short part in the middle.
func TestCounterAtEverySplit(t *testing.T) {
	for _, expect := range []string{"", "MSG foo 1 5\r\nhello\r\n", "MSG bar 1 5\r\nhello\r\n"} {
		for i := range len(session) + 1 {
			for j := i; j <= len(session); j += 1 + (j-i)/8 {
				c := &Counter{}
				if expect != "" {
					c.Expect([]byte(expect), 5)
				}
				for _, part := range []string{session[:i], session[i:j], session[j:]} {
					if err := c.Feed([]byte(part)); err != nil {
						t.Fatalf("split at %d and %d: %v", i, j, err)
					}
				}
				if got := c.tallies(); got != sessionTallies {
					t.Fatalf("expecting %q, split at %d and %d: got %+v, want %+v", expect, i, j, got, sessionTallies)
				}
			}
		}
	}
}

// Many equal messages are counted by whole blocks, those of another sender and
// the cut ones between them too.
func TestCounterCountsBlocks(t *testing.T) {
	one := delivered("foo", 1, 16)
	stream := bytes.Repeat(one, 10_000)
	stream = append(stream, "PING\r\n"...)
	stream = append(stream, bytes.Replace(one, []byte("xxx"), []byte("xyx"), 1)...)
	stream = append(stream, bytes.Repeat(one, 5_000)...)
	for _, size := range []int{7, 100, 4096, 65_536, 1 << 20} {
		c := &Counter{}
		c.Expect(one, 16)
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			if err := c.Feed(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if want := (tallies{15_001, 15_001 * 16, 1, 0}); c.tallies() != want {
			t.Errorf("reads of %d bytes: got %+v, want %+v", size, c.tallies(), want)
		}
	}
}

func TestCounterRefuses(t *testing.T) {
	for _, tc := range []struct {
		stream string
		want   error
	}{
		{"MSG foo 1 2\r\nabX\n", ErrProtocol},
		{"MSG foo 1 2\r\nab\rX", ErrProtocol},
		{"MSG foo 1 2\r\nab\r\nMSG foo 1 2\r\nabcd\r\n", ErrProtocol},
		{"MSG foo 1 x\r\n", ErrProtocol},
		{"MSG foo 1 1234567890\r\n", ErrProtocol},
		{"MSG foo 1 \r\n", ErrProtocol},
		{"PUB foo 2\r\n", ErrProtocol},
		{"\r\n", ErrProtocol},
		{strings.Repeat("a", maxLine+1), ErrProtocol},
		{"-ERR 'Slow Consumer'\r\n", ErrServer},
	} {
		for _, step := range []int{1, 3, len(tc.stream)} {
			c, err := &Counter{}, error(nil)
			for rest := tc.stream; len(rest) > 0 && err == nil; {
				n := min(step, len(rest))
				err = c.Feed([]byte(rest[:n]))
				rest = rest[n:]
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("%.40q by %d: got %v, want %v", tc.stream, step, err, tc.want)
			}
		}
	}
}

func TestFramesAtEverySplit(t *testing.T) {
	const stream = "MSG foo 1 inbox.1 5\r\nhello\r\nPING\r\nMSG foo 1 0\r\n\r\nPONG\r\nMSG foo 1 4\r\n\r\n\r\n\r\n"
	want := []string{"inbox.1 hello", " ", " \r\n\r\n"}
	for i := range len(stream) + 1 {
		var got []string
		f := &Frames{Message: func(f Frame) { got = append(got, fmt.Sprintf("%s %s", f.Reply, f.Payload)) }}
		if err := errors.Join(f.Feed([]byte(stream[:i])), f.Feed([]byte(stream[i:]))); err != nil {
			t.Fatalf("split at %d: %v", i, err)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") || f.Pings != 1 || f.Pongs != 1 {
			t.Errorf("split at %d: got %q, %d pings, %d pongs", i, got, f.Pings, f.Pongs)
		}
	}
	for stream, want := range map[string]error{
		"MSG foo 1 2\r\nabcd\r\n":      ErrProtocol,
		"MSG foo 1 x\r\n":              ErrProtocol,
		"PUB foo\r\n":                  ErrProtocol,
		strings.Repeat("a", maxLine+1): ErrProtocol,
		"-ERR 'Stale Connection'\r\n":  ErrServer,
	} {
		if err := new(Frames).Feed([]byte(stream)); !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", stream, err, want)
		}
	}
}

// However a stream is cut, the counter counts the same or refuses it, and so does
// the one that expects a message.
func FuzzCounter(f *testing.F) {
	f.Add([]byte(session), uint16(3), uint16(70))
	f.Add([]byte("MSG foo 1 2\r\nabX\n"), uint16(1), uint16(13))
	f.Add([]byte("-ERR 'no'\r\n"), uint16(2), uint16(2))
	f.Fuzz(func(t *testing.T, stream []byte, i, j uint16) {
		whole := &Counter{}
		failed := whole.Feed(stream)
		a := min(int(i), len(stream))
		b := min(max(int(j), a), len(stream))
		cut := &Counter{}
		cut.Expect([]byte("MSG foo 1 5\r\nhello\r\n"), 5)
		var err error
		for _, part := range [][]byte{stream[:a], stream[a:b], stream[b:]} {
			if err == nil {
				err = cut.Feed(part)
			}
		}
		if (err == nil) != (failed == nil) {
			t.Fatalf("whole: %v; cut at %d and %d: %v", failed, a, b, err)
		}
		if err == nil && cut.tallies() != whole.tallies() {
			t.Fatalf("whole: %+v; cut at %d and %d: %+v", whole.tallies(), a, b, cut.tallies())
		}
	})
}

func BenchmarkCounter(b *testing.B) {
	one := delivered("foo", 1, 16)
	stream := bytes.Repeat(one, readSize/len(one))
	other := bytes.Repeat(append(bytes.Clone(one), delivered("foo", 2, 16)...), readSize/len(one)/2)
	for _, tc := range []struct {
		name   string
		stream []byte
		expect bool
	}{{"expected", stream, true}, {"repeated", stream, false}, {"changing", other, false}} {
		b.Run(tc.name, func(b *testing.B) {
			c := &Counter{}
			if tc.expect {
				c.Expect(one, 16)
			}
			for b.Loop() {
				if err := c.Feed(tc.stream); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(c.Messages), "ns/message")
		})
	}
}
