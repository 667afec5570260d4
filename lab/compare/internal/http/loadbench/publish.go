package loadbench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/lab/compare/internal/harness/measure"
	natscodec "paddock/lab/internal/codec/nats"
)

// PublishCommand is the first argument by which bench load is one of the publishers that
// `paddock bench nats pub` is compared with, as a process of its own.
const PublishCommand = "publish"

// The published messages.
const (
	publishSubject = "paddock.bench"
	publishBytes   = 128
	publishDepth   = "4096" // of ours: the others wait for nothing
	// publishLook is after how many messages a publisher looks at the time.
	publishLook = 256
)

// published is the output of a publisher.
type published struct {
	Messages int64 `json:"messages"`
	NS       int64 `json:"ns"`
}

// Publish publishes to an address for a duration, as args tell. It returns once the server has
// confirmed all messages.
func Publish(args []string, out io.Writer) error {
	if len(args) != 3 {
		return fmt.Errorf("want %s and %s|%s ADDRESS DURATION", PublishCommand, natsPeer, bufioPeer)
	}
	d, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	publish, known := map[string]func(addr string, d time.Duration) (int64, error){natsPeer: publishNATS, bufioPeer: publishBuffered}[args[0]]
	if !known {
		return fmt.Errorf("no publisher %q: want %s or %s", args[0], natsPeer, bufioPeer)
	}
	began := time.Now()
	n, err := publish(args[1], d)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(published{n, int64(time.Since(began))})
}

// publishNATS publishes by nats.go, with calls of Publish in a loop.
func publishNATS(addr string, d time.Duration) (int64, error) {
	c, err := nats.Connect("nats://"+addr, nats.NoReconnect())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	payload := bytes.Repeat([]byte("a"), publishBytes)
	n, err := during(d, func() error { return c.Publish(publishSubject, payload) })
	return n, errors.Join(err, c.Flush())
}

// publishBuffered publishes as the NATS server's own Go benchmarks do: an operation that is
// rendered once goes through a buffer of 32 KiB.
func publishBuffered(addr string, d time.Duration) (int64, error) {
	c, r, err := natscodec.Dial(context.Background(), addr, natscodec.Login{}, "")
	if err != nil {
		return 0, err
	}
	defer c.Close()
	w := bufio.NewWriterSize(c, 32<<10)
	op := fmt.Appendf(nil, "PUB %s %d\r\n%s\r\n", publishSubject, publishBytes, strings.Repeat("a", publishBytes))
	n, err := during(d, func() error {
		_, err := w.Write(op)
		return err
	})
	if err != nil {
		return 0, err
	}
	_, err = w.WriteString("PING\r\n")
	if err := errors.Join(err, w.Flush()); err != nil {
		return 0, err
	}
	for {
		switch line, err := r.ReadString('\n'); {
		case err != nil:
			return 0, err
		case line == "PONG\r\n":
			return n, nil
		case line == "PING\r\n": // needs no answer yet
		default:
			return 0, errors.New(strings.TrimSpace(line))
		}
	}
}

// during calls f for d, and returns the number of calls.
func during(d time.Duration, f func() error) (n int64, err error) {
	for end := time.Now().Add(d); time.Now().Before(end); n += publishLook {
		for range publishLook {
			if err := f(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// publishArgs are the arguments of a publisher.
func publishArgs(peer string) func(o *order) ([]string, error) {
	return func(o *order) ([]string, error) {
		if o.op != opPublish {
			return nil, cannot(peer, o.op)
		}
		return []string{PublishCommand, peer, o.addr, o.duration.String()}, nil
	}
}

// readPublished reads the output of a publisher.
func readPublished(stdout string, m *measure.Measurement) error {
	var p published
	if err := json.Unmarshal([]byte(stdout), &p); err != nil {
		return fmt.Errorf("%w in %q", err, clip(stdout))
	}
	m.Ops, m.Bytes, m.Elapsed = p.Messages, p.Messages*publishBytes, time.Duration(p.NS)
	return checkAnswers("the publisher", p.Messages, 0)
}
