package nats

import (
	"context"
	"fmt"
	"net"
	"time"

	"paddock/load"
)

// probeTime is how long a server may take to let us in.
const probeTime = 5 * time.Second

// Probe connects once and is let in, or says why not: a mistake in the address or the login
// is told before a run, not by each of its connections.
func (c *Codec) Probe(ctx context.Context, network, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	p := newPublisher(c)
	in, buf := []byte(nil), make([]byte, maxLine)
	for p.stage != isReady {
		n, err := nc.Read(buf)
		if err != nil {
			return fmt.Errorf("%s does not answer as a NATS server: %w", address, err)
		}
		in = append(in, buf[:n]...)
		var answers load.Answers
		used, err := p.Receive(in, &answers)
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		in = in[used:]
		if _, err := nc.Write(answers.Reply); err != nil {
			return err
		}
	}
	return nil
}
