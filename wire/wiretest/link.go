// Package wiretest holds the transports that tests and benchmarks of wire run
// over: plain [net.Conn] values that know nothing of the protocol.
//
//   - [Pipe] is a connection in memory with a buffer, deadlines and half-close.
//   - [Link] is the same with a bandwidth and a propagation delay.
//   - [Shaper] puts such a link between two real TCP connections on loopback.
//   - [Faulty] wraps any connection with delays, small pieces, stalls, cuts,
//     errors and corruption.
//   - [Chunked] feeds a decoder the same bytes in pieces of many sizes.
//
// # Time
//
// Pipe, Link and Faulty block on condition variables and channels only, so they
// are durably blocked in the sense of [testing/synctest]: inside a bubble every
// delay, deadline and rate is exact, and a minute takes no time. Create them
// inside the bubble that uses them. Shaper has sockets and therefore real time.
//
// # What a connection in memory guarantees
//
// It behaves as TCP on Linux does, without its races:
//
//   - Bytes arrive in order, none is lost. Concurrent Writes do not interleave.
//   - CloseWrite, a method of every connection here, ends one direction: the
//     peer reads what was written before, then io.EOF, and can still write.
//   - After Close the peer reads what was written before, then io.EOF. Its
//     writes fail with EPIPE as soon as the news has travelled the link. Unlike
//     TCP's, a Close with unread bytes takes nothing away from the peer.
//   - After SetLinger(0), Close is a reset: bytes that still wait in the queue
//     of the link are dropped, those on their way arrive, then the peer's reads
//     and writes fail with ECONNRESET.
//   - Errors are *net.OpError around net.ErrClosed, os.ErrDeadlineExceeded,
//     syscall.EPIPE or syscall.ECONNRESET; the end of the stream is a bare io.EOF.
package wiretest

import (
	"net"
	"time"
)

// LinkConfig describes a link, the same in both directions. Its zero value is a
// Pipe of 64 KiB.
type LinkConfig struct {
	// Rate is the bandwidth of each direction in bytes per second. Zero or less:
	// infinite, so that only Delay counts.
	Rate int64

	// Delay is how long a byte travels: half of the round trip.
	Delay time.Duration

	// Buffer is the size in bytes of the queue in front of the link, as the socket's send buffer
	// is. A Write that finds it full waits. With a Rate, the reading end has another Buffer for
	// arrived bytes, and bytes on their way count for neither, so a reader that keeps up never
	// slows the link down. Without a Rate it bounds all bytes that have not been read. Zero or
	// less: the bytes that the link sends in 10 ms, at least 64 KiB. A process that writes in real
	// time must come back before the queue is empty, so for full rate it must hold a few
	// milliseconds.
	Buffer int

	// Coalesce is the interval at which bytes that arrive back to back become
	// readable, as a network card coalesces interrupts: without it a reader would
	// spin for a few bytes at a time. The last bytes before a pause are not held
	// up, so a message on an idle link is on time. Zero: 200 microseconds.
	// Negative: none, which is exact to the byte, and in real time costs CPU.
	Coalesce time.Duration
}

const (
	defaultBuffer     = 64 << 10
	defaultBufferTime = 10 * time.Millisecond
	defaultCoalesce   = 200 * time.Microsecond
)

func (l LinkConfig) withDefaults() LinkConfig {
	l.Rate, l.Delay = max(l.Rate, 0), max(l.Delay, 0)
	if l.Buffer <= 0 {
		l.Buffer = max(defaultBuffer, l.in(defaultBufferTime))
	}
	if l.Coalesce == 0 {
		l.Coalesce = defaultCoalesce
	}
	l.Coalesce = max(l.Coalesce, 0)
	return l
}

// in returns how many bytes the link sends in d.
func (l LinkConfig) in(d time.Duration) int { return int(float64(l.Rate) * d.Seconds()) }

// window returns how many bytes of one direction may be unread: the queue, the length of the link,
// and the bytes that arrive while the reader sleeps, is not scheduled, or does not read.
func (l LinkConfig) window() int {
	if l.Rate == 0 {
		return l.Buffer
	}
	return 2*l.Buffer + l.in(l.Delay+l.Coalesce) + 1
}

// Link returns the two ends of a connection in memory that takes Delay and sends
// at most Rate. It is a Pipe in everything else: nothing is lost or reordered,
// and Close lets the bytes arrive that were written.
//
// Inside a bubble of testing/synctest its times are exact: a Write of n bytes
// into an empty queue arrives completely Delay + n/Rate later. In real time a
// blocked call wakes as late as the runtime's timers are, up to a millisecond
// when the process is idle; a later byte does not leave later for it. There is
// no timer for each packet: each end has one, which is set while it waits.
//
// A gigabit at 50 ms round trip is LinkConfig{Rate: 125e6, Delay: 25 * time.Millisecond}. It
// holds up to its bandwidth-delay product in memory: there 3.1 MB, and twice the
// Buffer.
func Link(cfg LinkConfig) (a, b net.Conn) {
	return connect("link", cfg.withDefaults())
}
