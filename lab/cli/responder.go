package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"paddock/internal/netio/listen"
	"paddock/lab/internal/sitecorpus"
	"paddock/lab/responder"
)

// responderCmd is a service whose response times are known beforehand, for load
// generators to be held against.
type responderCmd struct {
	Law []string `arg:"" optional:"" placeholder:"LAW" help:"When requests are answered (default: at once)."`

	Addr   string `placeholder:"HOST:PORT" default:"127.0.0.1:0" help:"Address on loopback to listen on; the port 0 takes a free one (default ${default})."`
	Size   int    `placeholder:"BYTES" help:"Length of an answer with its head (default 150)."`
	Body   int    `placeholder:"BYTES" help:"Length of an answer's body, instead."`
	Corpus bool   `help:"Answer with the 184 files that tunnels are measured with, at /0 to /183."`
	Seed   uint64 `placeholder:"N" default:"1" help:"Seed of random choices (default ${default})."`
}

// Help describes the laws and the output.
func (*responderCmd) Help() string {
	return `A law says when a request is answered:

    at once
    delay 5ms                            each after the same time
    queue 10000/s                        one after another, at a fixed speed: M/D/1 under random arrivals
    queue 10000/s frozen 1s every 10s    the same, standing still at the start of each period
    drawn 0=1ms 0.5=2ms 0.99=50ms 1=1s   each after a time that is drawn between these shares

The first line of the output is the address, and with --corpus the second one the files' SHA-256. The end, by a signal, says how many requests came, and how much later than by the law they were answered: what is late there is this machine's doing, not the law's.

    paddock bench responder queue 10000/s frozen 1s every 10s --addr 127.0.0.1:9000`
}

// Run serves until a signal ends it.
func (b *responderCmd) Run(ctx context.Context, c *Console) error {
	text := strings.Join(b.Law, " ")
	if text == "" {
		text = responder.AtOnce{}.String()
	}
	law, err := responder.Parse(text, b.Seed)
	if err != nil {
		return usageError(err)
	}
	if err := listen.CheckOr(b.Addr, false, ""); err != nil {
		return usagef("--addr: %w", err)
	}
	contents, about, err := b.contents()
	if err != nil {
		return usageError(err)
	}
	ctx, release := interruptible(ctx)
	defer release()
	s, err := responder.Serve(responder.Config{Address: b.Addr, Law: law, Size: b.Size, Contents: contents})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s\n%s", s.Addr, about)
	<-ctx.Done()
	did, err := s.Close()
	if err != nil {
		return err
	}
	return tellResponder(c.Stdout, did)
}

// maxBody is the largest body, in bytes.
const maxBody = 64 << 20

// contents returns the answers, if they have more than a length, and a description of them.
func (b *responderCmd) contents() (_ []responder.Content, about string, err error) {
	given := 0
	for _, is := range []bool{b.Size != 0, b.Body != 0, b.Corpus} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, "", errors.New("--size, --body and --corpus exclude one another")
	case b.Body < 0 || b.Body > maxBody:
		return nil, "", fmt.Errorf("--body %d: want 1 to %d", b.Body, maxBody)
	case b.Body > 0:
		return []responder.Content{{Type: "application/octet-stream", Body: bytes.Repeat([]byte{'.'}, b.Body)}}, "", nil
	case b.Corpus:
		files := sitecorpus.Make()
		contents := make([]responder.Content, len(files))
		for i, f := range files {
			contents[i] = responder.Content{Type: f.Type, Body: f.Body}
		}
		return contents, fmt.Sprintf("%d files, %d bytes, sha256 %s\n", len(files), sitecorpus.Size(files), sitecorpus.Digest(files)), nil
	}
	return nil, "", nil
}

// tellResponder prints the counts of a responder.
func tellResponder(w io.Writer, did *responder.Did) error {
	_, err := fmt.Fprintf(w, "%d requests on %d connections, %d answers; late by %v (p50), %v (p99), %v (most)\n",
		did.Requests, did.Conns, did.Answers, did.Late.Quantile(0.5), did.Late.Quantile(0.99), did.Late.Max().Round(time.Microsecond))
	if err == nil && did.Refused+did.Unread > 0 {
		_, err = fmt.Fprintf(w, "refused: %d connections beyond the bound, %d that sent an invalid request\n", did.Refused, did.Unread)
	}
	return err
}
