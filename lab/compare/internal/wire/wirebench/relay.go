package wirebench

import (
	"errors"
	"fmt"
	"io"
	"time"

	"paddock/lab/compare/internal/wire/peers"
	"paddock/wire/wiretest"
)

// link is what the goal wan runs across: 1 Gbit/s each way, 50 ms there and back.
var link = wiretest.LinkConfig{Rate: 125e6, Delay: 25 * time.Millisecond}

// ServeRelay is the link's process: it passes connections on to addr across the
// emulated link, until in ends. Its lines are those of [Serve].
func ServeRelay(addr string, in io.Reader, out io.Writer) error {
	shaper, err := wiretest.NewShaper(addr, link)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, lineReady+"\n", shaper.Addr(), "")
	if err == nil {
		err = answer(&peers.Sink{}, in, out)
	}
	return errors.Join(err, shaper.Close())
}
