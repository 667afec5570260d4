package natsload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
)

// Idle is an operation: connections that send CONNECT and nothing more. It measures the memory of
// each on the server. Its window is the time in which the server may release the memory of
// connecting, and its processor time is the cost of the idle connections.
type Idle struct{ Conns int }

// Measure connects, waits for the window and weighs the server.
func (q Idle) Measure(ctx context.Context, server Server, o measure.Options) (_ *measure.Measurement, err error) {
	before, err := server.Memory()
	if err != nil {
		return nil, err
	}
	conns := make([]net.Conn, 0, q.Conns)
	defer func() {
		for _, nc := range conns {
			reset(nc)
		}
	}()
	for i := range q.Conns {
		nc, err := dial(ctx, server.Addr())
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		conns = append(conns, nc)
	}
	_ = lifecycle.Sleep(ctx, o.Warmup)
	meter, err := startMeter(server)
	if err != nil {
		return nil, err
	}
	_ = lifecycle.Sleep(ctx, o.Duration)
	m := &measure.Measurement{Ops: int64(q.Conns)}
	after, err := server.Memory()
	if err := errors.Join(err, meter.Stop(m)); err != nil {
		return nil, err
	}
	m.ConnBytes = float64(after-before) / float64(q.Conns)
	return m, errors.Join(ctx.Err(), stillThere(conns))
}

// answerWithin bounds one exchange with an idle connection.
const answerWithin = 10 * time.Second

// stillThere asks the first and the last connection for a PONG: no connection was closed for being
// idle.
func stillThere(conns []net.Conn) error {
	for _, nc := range []net.Conn{conns[0], conns[len(conns)-1]} {
		if err := nc.SetDeadline(time.Now().Add(answerWithin)); err != nil {
			return err
		}
		if _, err := nc.Write([]byte("PONG\r\nPING\r\n")); err != nil {
			return err
		}
		buf := make([]byte, readSize)
		var seen receiver
		for seen.pongs == 0 {
			n, err := nc.Read(buf)
			if err != nil {
				return fmt.Errorf("an idle connection: %w", err)
			}
			if err := seen.feed(buf[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// reset closes without leaving the address behind for a minute: there are not
// enough of them for every round.
func reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // only the next rounds would tell
	}
	nc.Close()
}
