package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/ingest"
)

const (
	maxLine      = 1024    // bytes of a line; a longer one is rejected
	maxDatagram  = 8 << 10 // bytes; a longer datagram is rejected
	maxReceivers = 64      // connections to tcp-listen; further ones are closed
	maxSenders   = 64      // addresses whose datagrams have readers; with more, all begin again
	datagrams    = 1024    // that wait; further ones are dropped
	linesDial    = 10 * time.Second
)

var (
	errCutLine      = errors.New("body: a line without its end")
	errLongLine     = fmt.Errorf("body: a line of more than %d bytes", maxLine)
	errLongDatagram = fmt.Errorf("body: a datagram of more than %d bytes", maxDatagram)
)

// lineReader is a reader of package format.
type lineReader interface {
	Line(line []byte, arrived int64) format.Result
}

// reader returns a new reader of the format: one for each connection, and for each address that
// sends datagrams.
func (l *Lines) reader() lineReader {
	switch l.Format {
	case "sbs":
		return &format.SBS{}
	case "nmea":
		return &format.NMEA{ID: l.Object}
	}
	return &format.AIS{}
}

// admits reports whether an address may send. Without networks the address is loopback, as the one
// that is listened on.
func (l *Lines) admits(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("") // a network has no zone
	if len(l.From) == 0 {
		return true
	}
	for _, p := range l.From {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

func (s *source) runLines(ctx context.Context) {
	switch s.settings.Lines.URL.Scheme {
	case "tcp":
		s.keep(ctx, s.followLines)
	case "tcp-listen":
		s.keep(ctx, s.acceptLines)
	case "udp":
		s.keep(ctx, s.receiveLines)
	}
}

// followLines reads one connection to a receiver.
func (s *source) followLines(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: linesDial}).DialContext(ctx, "tcp", s.settings.Lines.URL.Host)
	if err != nil {
		return withoutAddress(err)
	}
	s.up()
	return s.readConn(ctx, conn)
}

// readConn reads lines from a connection until it or ctx ends.
func (s *source) readConn(ctx context.Context, conn net.Conn) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	in, reader := bufio.NewReaderSize(conn, maxLine+len("\r\n")), s.settings.Lines.reader()
	for {
		batch := &ingest.Batch{}
		err := s.nextLines(batch, reader, in)
		if !s.submit(ctx, batch) {
			return errors.New("shutting down")
		}
		if err != nil {
			return withoutAddress(err)
		}
	}
}

// nextLines waits for a line, and reads those buffered behind it.
func (s *source) nextLines(batch *ingest.Batch, reader lineReader, in *bufio.Reader) error {
	for range maxGathered {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.add(batch, nil, bytes.Clone(line), errLongLine)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			line = nil
		}
		if err != nil {
			if len(bytes.TrimSpace(line)) > 0 {
				s.add(batch, nil, bytes.Clone(line), errCutLine)
			}
			return err
		}
		s.line(batch, reader, line)
		if ahead, _ := in.Peek(in.Buffered()); bytes.IndexByte(ahead, '\n') < 0 {
			return nil
		}
	}
	return nil
}

// line adds what a line says to a batch.
func (s *source) line(batch *ingest.Batch, reader lineReader, line []byte) {
	switch line = bytes.TrimSpace(line); {
	case len(line) == 0:
		return
	case len(line) > maxLine:
		s.add(batch, nil, line, errLongLine)
		return
	}
	d := s.decoder()
	if s.settings.Lines.Format == "ais" {
		d.Present = d.Arrived // its times have the minute of their arrival
	}
	found := reader.Line(line, int64(d.Arrived))
	s.take(d, batch, &found, line)
}

// acceptLines takes connections of receivers. An error of the listener ends them too: receivers
// dial again.
func (s *source) acceptLines(ctx context.Context) error {
	l := s.settings.Lines
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.URL.Host)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	defer listener.Close()
	s.up()
	s.listening.Store(addrOf(listener.Addr()))
	var readers sync.WaitGroup
	defer readers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	places := make(chan struct{}, maxReceivers)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		select {
		case places <- struct{}{}:
		default:
			s.refused(conn.RemoteAddr(), "there are too many connections")
			_ = conn.Close()
			continue
		}
		if !l.admits(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()) {
			<-places
			s.refused(conn.RemoteAddr(), "its network is not in from")
			_ = conn.Close()
			continue
		}
		readers.Go(func() {
			defer func() { <-places }()
			_ = s.readConn(ctx, conn) // the receiver dials again
		})
	}
}

func addrOf(a net.Addr) *string {
	text := a.String()
	return &text
}

// refused counts a sender that may not send, or not now.
func (s *source) refused(peer net.Addr, why string) {
	s.failures.Add(1)
	s.log.Debug("a sender was refused", "peer", peer.String(), "reason", why)
}

// receiveLines reads datagrams, each with one line or more.
func (s *source) receiveLines(ctx context.Context) error {
	l := s.settings.Lines
	packet, err := new(net.ListenConfig).ListenPacket(ctx, "udp", l.URL.Host)
	if err != nil {
		return err
	}
	conn := packet.(*net.UDPConn)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	s.up()
	s.listening.Store(addrOf(conn.LocalAddr()))
	queue := make(chan datagram, datagrams)
	var applying sync.WaitGroup
	applying.Go(func() { s.applyDatagrams(ctx, queue) })
	defer applying.Wait()
	defer close(queue)
	defer conn.Close()
	buffer := make([]byte, maxDatagram+1)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return err
		}
		if !l.admits(from.Addr()) {
			s.refused(net.UDPAddrFromAddrPort(from), "its network is not in from")
			continue
		}
		select {
		case queue <- datagram{from, bytes.Clone(buffer[:n])}:
		default:
			s.dropped.Add(1)
		}
	}
}

// datagram is the text of a datagram, and the address that it is from.
type datagram struct {
	from netip.AddrPort
	text []byte
}

// applyDatagrams applies datagrams in their order until the queue is closed. Messages of several
// datagrams are put together by sender.
func (s *source) applyDatagrams(ctx context.Context, queue <-chan datagram) {
	readers := map[netip.AddrPort]lineReader{}
	for first := range queue {
		batch := &ingest.Batch{}
		for n := s.datagram(batch, readers, first); n < maxGathered && len(queue) > 0; {
			n += s.datagram(batch, readers, <-queue)
		}
		s.submit(ctx, batch) // false: the process ends
	}
}

// datagram adds what a datagram says to a batch, and returns the number of its lines.
func (s *source) datagram(batch *ingest.Batch, readers map[netip.AddrPort]lineReader, d datagram) (lines int) {
	if len(d.text) > maxDatagram {
		s.add(batch, nil, d.text, errLongDatagram)
		return 1
	}
	reader := readers[d.from]
	if reader == nil {
		if len(readers) == maxSenders {
			clear(readers)
		}
		reader = s.settings.Lines.reader()
		readers[d.from] = reader
	}
	for line := range bytes.SplitSeq(d.text, []byte{'\n'}) {
		s.line(batch, reader, line)
		lines++
	}
	return lines
}
