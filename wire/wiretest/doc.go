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
