package tunnel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/wire"
)

// switchProtocols gives the visitor's connection to the target: from here on bytes go
// both ways and mean nothing to us. text is the checked head with status 101.
func (x *exchange) switchProtocols(st *wire.Stream, text []byte) error {
	conn, first, err := x.t.hijack()
	if err != nil {
		_ = st.Reset(wire.Internal)
		return fmt.Errorf("tunnel: upgrade: %w", err)
	}
	x.stop() // from now on a FIN is the end of one half
	x.s.served.Add(1)
	told, over := x.told(), new(passage)
	if _, err = conn.Write(text); err == nil {
		stop := context.AfterFunc(x.s.ctx, func() { _ = st.Reset(wire.Unavailable) })
		defer stop()
		err = spliceCounted(conn, first, &recordStream{Stream: st}, x.s.limits.Linger, over)
	} else {
		_ = st.Reset(wire.Cancelled)
		over.cut(CutByVisitor)
	}
	_ = conn.Close()
	if told != nil {
		told.Received, told.Sent, told.Took, told.End = over.received.Load(), over.sent.Load(), time.Since(x.began), x.s.endOf(over, st)
		x.s.Hooks.Served(*told)
	}
	if err != nil && !errors.Is(err, errCut) {
		x.s.log.Debug("tunnel: upgraded connection", "tunnel", x.claim.where, "error", err)
	}
	return nil
}
