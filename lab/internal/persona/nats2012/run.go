// Package nats2012 repeats the Go benchmarks of the NATS server of 2012: operations rendered once,
// written through a buffer of 32 KiB over one connection, with a PING behind them. The time runs
// until the PONG, or until the last delivered byte. It works with any server, and prints lines that
// benchstat reads.
package nats2012

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	natscodec "paddock/lab/internal/codec/nats"
)

const (
	// writeBuffer is that of the original.
	writeBuffer = 32 << 10
	// stall is how long nothing may move before a run is given up.
	stall = 10 * time.Second
	// mostOps bounds the operations of a run.
	mostOps = 1 << 30
)

// Result is the result of one row.
type Result struct {
	Row     Row
	N       int64 // operations
	Elapsed time.Duration
}

// PerOp is the time of an operation in ns.
func (r *Result) PerOp() float64 { return float64(r.Elapsed) / float64(r.N) }

// MBs is 10^6 bytes of operations per second.
func (r *Result) MBs() float64 { return float64(len(r.Row.op())) * 1e3 / r.PerOp() }

// MarshalJSON writes the result with the figures that follow from it.
func (r *Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"name": r.Row.Name, "n": r.N, "elapsed_ns": r.Elapsed, "ns_per_op": r.PerOp(), "mb_per_s": r.MBs(), "original_ns_per_op": r.Row.Original(),
	})
}

// WriteTo writes the result as a line of Go benchmarks.
func (r *Result) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "Benchmark%-16s %10d %12.1f ns/op %10.2f MB/s %10.0f original-ns/op\n", r.Row.Name, r.N, r.PerOp(), r.MBs(), r.Row.Original())
	return int64(n), err
}

// Run makes one row, with more and more operations until they take as long as asked, as
// package testing does. Each time has connections of its own.
func Run(ctx context.Context, address string, login natscodec.Login, row Row, length time.Duration) (*Result, error) {
	for n := int64(1); ; {
		took, err := once(ctx, address, login, &row, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.Name, err)
		}
		if took >= length || n == mostOps {
			return &Result{row, n, took}, nil
		}
		// A fifth more than it should take, and at most a hundred times as many.
		next := int64(1.2 * float64(n) * float64(length) / float64(max(took, 1)))
		n = min(max(next, n+1), 100*n, mostOps)
	}
}

// once makes n operations, and gives the time that they took.
func once(ctx context.Context, address string, login natscodec.Login, row *Row, n int64) (time.Duration, error) {
	pub, err := dial(ctx, address, login)
	if err != nil {
		return 0, err
	}
	defer pub.Close()
	sub := pub
	if row.Apart {
		if sub, err = dial(ctx, address, login); err != nil {
			return 0, err
		}
		defer sub.Close()
	}
	if row.Sids > 0 {
		if err := sub.exchange(append(row.subscribe(), "PING\r\n"...)); err != nil {
			return 0, err
		}
	}
	took, err := measure(pub, sub, row, n)
	if err != nil {
		return 0, err
	}
	// The server may notice late that the connections have ended, and deliver the next messages to
	// members of the queue that are gone.
	return took, sub.exchange(append(row.unsubscribe(), "PING\r\n"...))
}

// measure makes n operations from pub to sub, which may be the same.
func measure(pub, sub *conn, row *Row, n int64) (time.Duration, error) {
	began := time.Now()
	got := make(chan error, 1) // one value, so that the reader never waits
	go func() { got <- sub.deliveries(row, n) }()
	err := pub.publish(row.op(), n)
	if err != nil {
		sub.Close() // which ends the reader
	}
	if err := errors.Join(err, <-got); err != nil {
		return 0, err
	}
	if row.Sids == 0 {
		err := pub.exchange(nil)
		return time.Since(began), err
	}
	took := time.Since(began)
	return took, pub.exchange(nil) // nothing but the PONG comes behind the last delivery
}

// conn is a connection that has been let in.
type conn struct {
	net.Conn
	in  *bufio.Reader
	end func() bool
}

// Close closes the connection.
func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}

func dial(ctx context.Context, address string, l natscodec.Login) (*conn, error) {
	nc, in, err := natscodec.Dial(ctx, address, l, "")
	if err != nil {
		return nil, err
	}
	return &conn{nc, in, context.AfterFunc(ctx, func() { _ = nc.Close() })}, nil
}

// exchange says something that ends with a PING, and takes its PONG.
func (c *conn) exchange(b []byte) error {
	_ = c.SetDeadline(time.Now().Add(stall))
	if _, err := c.Write(b); err != nil {
		return err
	}
	line, err := c.in.ReadString('\n')
	if err == nil && line != "PONG\r\n" {
		err = fmt.Errorf("%.80q, where a PONG is due", line)
	}
	return err
}

// publish writes n operations and a PING.
func (c *conn) publish(op []byte, n int64) error {
	w := bufio.NewWriterSize(c.Conn, writeBuffer)
	for i := range n {
		if i%(1<<16) == 0 {
			_ = c.SetWriteDeadline(time.Now().Add(stall))
		}
		if _, err := w.Write(op); err != nil {
			return err
		}
	}
	if _, err := w.WriteString("PING\r\n"); err != nil {
		return err
	}
	return w.Flush()
}

// deliveries reads those of n operations, and checks each. They differ in the subscription
// alone, which is one digit.
func (c *conn) deliveries(row *Row, n int64) error {
	if row.Sids == 0 {
		return nil
	}
	want := row.delivery(1)
	digit := len("MSG ") + len(row.Subject) + 1
	before, behind := want[:digit], want[digit+1:]
	for i := range n {
		if i%(1<<16) == 0 {
			_ = c.SetReadDeadline(time.Now().Add(stall))
		}
		got, err := c.in.Peek(len(want))
		if err != nil {
			return fmt.Errorf("delivery %d of %d: %w, behind %q", i+1, n, err, got)
		}
		if sid := int(got[digit] - '0'); sid < 1 || sid > row.Sids || !bytes.Equal(got[:digit], before) || !bytes.Equal(got[digit+1:], behind) {
			return fmt.Errorf("delivery %d of %d is %.80q", i+1, n, got)
		}
		_, _ = c.in.Discard(len(want)) // which are there
	}
	return nil
}
