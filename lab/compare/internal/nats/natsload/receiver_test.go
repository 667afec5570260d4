package natsload

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	natscodec "paddock/lab/internal/codec/nats"
)

// session is output of a server with every kind of line in it.
var session = "INFO {\"max_payload\":1048576} \r\nPONG\r\n" +
	"MSG foo 1 5\r\nhello\r\nMSG foo 1 5\r\nhello\r\nPING\r\n" +
	"MSG foo 1 5\r\nMSG f\r\nMSG a.b 12 reply.to 0\r\n\r\n" +
	"MSG foo 1 4\r\n\r\n\r\n\r\nHMSG foo 1 12 15\r\nNATS/1.0\r\n\r\nabc\r\n+OK\r\nPONG\r\n" +
	"MSG foo 1 100\r\n" + strings.Repeat("y", 100) + "\r\n"

func (r *receiver) counts() string { return fmt.Sprint(r.messages, r.pings, r.pongs) }

// Every split in two gives the same counts and messages, and every split in three that has a short
// part in the middle.
func TestReceiverAtEverySplit(t *testing.T) {
	for _, expect := range []string{"", "MSG foo 1 5\r\nhello\r\n", "MSG bar 1 5\r\nhello\r\n", "whole"} {
		for i := range len(session) + 1 {
			for j := i; j <= len(session); j += 1 + (j-i)/8 {
				r, got := &receiver{}, ""
				switch expect {
				case "":
				case "whole":
					r.message = func(op *natscodec.Operation) { got += fmt.Sprintf("%s %.6q|", op.Reply, op.Payload) }
				default:
					r.expect([]byte(expect))
				}
				for _, part := range []string{session[:i], session[i:j], session[j:]} {
					if err := r.feed([]byte(part)); err != nil {
						t.Fatalf("split at %d and %d: %v", i, j, err)
					}
				}
				if r.counts() != "7 1 2" {
					t.Fatalf("expecting %q, split at %d and %d: got %s", expect, i, j, r.counts())
				}
				const all = ` "hello"| "hello"| "MSG f"|reply.to ""| "\r\n\r\n"| "abc"| "yyyyyy"|`
				if expect == "whole" && got != all {
					t.Fatalf("split at %d and %d: got %s", i, j, got)
				}
			}
		}
	}
}

// Many equal messages are counted by whole blocks, those of another sender and the cut ones between
// them too.
func TestReceiverCountsBlocks(t *testing.T) {
	one := delivered("foo", 1, 16)
	stream := bytes.Repeat(one, 10_000)
	stream = append(stream, "PING\r\n"...)
	stream = append(stream, bytes.Replace(one, []byte("xxx"), []byte("xyx"), 1)...)
	stream = append(stream, bytes.Repeat(one, 5_000)...)
	for _, size := range []int{7, 100, 4096, 65_536, 1 << 20} {
		r := &receiver{}
		r.expect(one)
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			if err := r.feed(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if r.counts() != "15001 1 0" {
			t.Errorf("reads of %d bytes: got %s", size, r.counts())
		}
	}
}

func TestReceiverRefuses(t *testing.T) {
	for stream, want := range map[string]error{
		"MSG foo 1 2\r\nabX\n":        ErrProtocol,
		"MSG foo 1 2\r\nabcd\r\n":     ErrProtocol,
		"MSG foo 1 x\r\n":             ErrProtocol,
		"PUB foo 2\r\n":               ErrProtocol,
		"\r\n":                        ErrProtocol,
		strings.Repeat("a", 65<<10):   ErrProtocol,
		"-ERR 'Slow Consumer'\r\n":    ErrServer,
		"PONG\r\n-ERR 'Stale'\r\nPON": ErrServer,
	} {
		if err := new(receiver).feed([]byte(stream)); !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", stream, err, want)
		}
	}
}

func BenchmarkReceiver(b *testing.B) {
	one := delivered("foo", 1, 16)
	stream := bytes.Repeat(one, readSize/len(one))
	for _, expect := range []bool{true, false} {
		b.Run(fmt.Sprintf("expected=%v", expect), func(b *testing.B) {
			r := &receiver{}
			if expect {
				r.expect(one)
			}
			for b.Loop() {
				if err := r.feed(stream); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(r.messages), "ns/message")
		})
	}
}
