package perf

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// floorTime is how long one series runs: long enough for thousands of round
// trips, short beside a run.
const floorTime = 500 * time.Millisecond

// place asks the server for a port for one raw connection.
type place func(context.Context) (floorPlace, error)

// measure adds one series of each kind.
func (f *Floor) measure(ctx context.Context, ask place, payload int) error {
	f.Write = floorWrite
	echo, err := withFloor(ctx, ask, floorEchoes, func(c *net.TCPConn) (FloorEcho, error) { return echoSeries(c, max(payload, 1)) })
	if err != nil {
		return fmt.Errorf("raw TCP echo: %w", err)
	}
	bulk, err := withFloor(ctx, ask, floorSinks, bulkSeries)
	if err != nil {
		return fmt.Errorf("raw TCP writes: %w", err)
	}
	f.Echo = append(f.Echo, echo)
	f.Bulk = append(f.Bulk, bulk)
	return nil
}

// withFloor runs a series over a raw connection of its own.
func withFloor[T any](ctx context.Context, ask place, mode byte, series func(*net.TCPConn) (T, error)) (result T, err error) {
	at, err := ask(ctx)
	if err != nil {
		return result, err
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", at.Addr)
	if err != nil {
		return result, err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	_ = nc.SetDeadline(time.Now().Add(floorRuns))
	if _, err = nc.Write([]byte{mode}); err != nil {
		return result, err
	}
	return series(nc.(*net.TCPConn))
}

// echoSeries does one round trip after the other.
func echoSeries(c *net.TCPConn, payload int) (FloorEcho, error) {
	l := newLatency()
	r := l.recorder(1)
	out, in := make([]byte, payload), make([]byte, payload)
	for end := time.Now().Add(floorTime); time.Now().Before(end); {
		start := r.begin()
		if _, err := c.Write(out); err != nil {
			return FloorEcho{}, err
		}
		if _, err := io.ReadFull(c, in); err != nil {
			return FloorEcho{}, err
		}
		r.end(start, 1, 1)
	}
	r.flush()
	s := l.summary("")
	return FloorEcho{Payload: payload, N: s.N, P50: time.Duration(s.P50), P99: time.Duration(s.P99)}, nil
}

// bulkSeries writes as fast as it can. The time runs until the server has counted
// everything.
func bulkSeries(c *net.TCPConn) (FloorBulk, error) {
	buf := make([]byte, floorWrite)
	start := time.Now()
	var total uint64
	for time.Since(start) < floorTime {
		n, err := c.Write(buf)
		total += uint64(n)
		if err != nil {
			return FloorBulk{}, err
		}
	}
	if err := c.CloseWrite(); err != nil {
		return FloorBulk{}, err
	}
	var count [8]byte
	if _, err := io.ReadFull(c, count[:]); err != nil {
		return FloorBulk{}, err
	}
	if got := binary.LittleEndian.Uint64(count[:]); got != total {
		return FloorBulk{}, fmt.Errorf("%d of %d bytes arrived", got, total)
	}
	return FloorBulk{BytesPerSecond: float64(total) / time.Since(start).Seconds()}, nil
}
