package wireapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/platform/events"
	"paddock/internal/process/keyring"
	"paddock/wire"
)

const (
	// eventBatch bounds the events between two cursors.
	eventBatch = 256
	// maxFilter bounds the filter of a stream, in bytes.
	maxFilter = 4 << 10
)

// follow serves fence.events: one stream, from its filter to its end.
func (a *API) follow(ctx context.Context, s *wire.Stream) error {
	g, err := a.permit(s.Conn(), keyring.EventsRead)
	if err != nil {
		return err
	}
	reader, err := a.reader(s, g)
	if err != nil {
		return err
	}
	for _, c := range []*activeCount{&a.handlers, &a.followers} {
		c.add(1)
		defer c.add(-1)
	}
	ctx, cancel := g.While(ctx)
	ended := make(chan struct{})
	go func() { // until the client ends its half, or follow returns
		defer close(ended)
		defer cancel()
		_, _ = io.Copy(io.Discard, s)
	}()
	defer func() {
		cancel()
		_ = s.SetReadDeadline(time.Unix(1, 0))
		<-ended
	}()
	seen := a.cfg.Log.Subscribe(reader, "wire", s.Conn().RemoteAddr().String())
	err = a.send(ctx, s, reader)
	seen.End(err)
	if err != nil || !g.HasEnded() {
		return err
	}
	return errEnded
}

// reader reads the filter of a subscription.
func (a *API) reader(r io.Reader, g *keyring.Grant) (*events.Reader, error) {
	var f struct {
		events.Filter
		Cursor string `json:"cursor"`
	}
	if err := readFilter(r, &f); err != nil {
		return nil, invalid("filter: " + err.Error())
	}
	if err := f.Validate(); err != nil {
		return nil, invalid("filter: " + err.Error())
	}
	switch {
	case f.Set != "" && !g.Set(f.Set):
		return nil, &wire.Error{Code: wire.PermissionDenied, Msg: fmt.Sprintf("the key %.64q is not for the set %.64q", g.Name(), f.Set)}
	case f.Fleet != "" && !g.Fleet(f.Fleet):
		return nil, &wire.Error{Code: wire.PermissionDenied, Msg: fmt.Sprintf("the key %.64q is not for the fleet %.64q", g.Name(), f.Fleet)}
	case g.Limited():
		f.Sees = g.Sees
	}
	log := a.cfg.Log
	if f.Cursor == "" {
		return log.Reader(log.Latest(), f.Filter), nil
	}
	after, err := log.ParseCursor(f.Cursor)
	if errors.Is(err, events.ErrBadCursor) {
		return nil, invalid("cursor: " + err.Error())
	}
	if oldest := log.Oldest(); err != nil || after+1 < oldest {
		return nil, gone(log.Cursor(oldest - 1))
	}
	return log.Reader(after, f.Filter), nil
}

// readFilter reads one JSON object into f.
func readFilter(r io.Reader, f any) error {
	limited := &io.LimitedReader{R: r, N: maxFilter}
	buffered := bufio.NewReader(limited)
	c, err := buffered.ReadByte()
	for err == nil && strings.IndexByte(" \t\r\n", c) >= 0 {
		c, err = buffered.ReadByte()
	}
	if err == nil && c != '{' { // the decoder would wait for the end of a number
		return errors.New("must be a JSON object; {} selects everything")
	}
	if err == nil {
		_ = buffered.UnreadByte() // always possible after ReadByte
		dec := json.NewDecoder(buffered)
		dec.DisallowUnknownFields()
		err = dec.Decode(f)
	}
	te, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case limited.N == 0:
		return fmt.Errorf("longer than %d bytes", maxFilter)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("ends before it is a JSON object")
	case wrongType:
		return errors.New(te.Field[strings.LastIndexByte(te.Field, '.')+1:] + ": must be a string")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// gone refuses a cursor whose next events are not kept any more.
func gone(oldest string) error {
	details, _ := cbor.Marshal(oldest) // a text always encodes
	return &wire.Error{
		Code: wire.OutOfRange, Details: details,
		Msg: "cursor: the events after it are no longer kept; begin at " + oldest + ", or without a cursor",
	}
}

// send sends events as they occur, until the client disconnects or the log ends. The log ends in a
// drain, after all events were sent.
func (a *API) send(ctx context.Context, s *wire.Stream, reader *events.Reader) error {
	if err := s.WriteMsg(a.cursor(reader)); err != nil {
		return err
	}
	records := make([]events.Record, 0, eventBatch)
	for {
		quiet, cancel := context.WithTimeout(ctx, a.cfg.CursorEvery)
		batch, gap, err := reader.Next(quiet, records[:0])
		cancel()
		switch {
		case ctx.Err() != nil || errors.Is(err, events.ErrEnded):
			return nil
		case err == nil:
			err = a.sendBatch(s, batch, gap)
		case errors.Is(err, context.DeadlineExceeded):
			err = nil
		}
		if err == nil {
			err = s.WriteMsg(a.cursor(reader))
		}
		if err != nil {
			return err
		}
		clear(records[:cap(records)]) // so that records that the log has dropped are freed
	}
}

func (a *API) sendBatch(s *wire.Stream, batch []events.Record, gap events.Gap) error {
	if gap.Count() > 0 {
		if err := s.WriteMsg(a.cfg.Log.GapJSON(gap)); err != nil {
			return err
		}
	}
	for i := range batch {
		if err := s.WriteMsg(batch[i].JSON.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// cursor returns the record with the reader's position.
func (a *API) cursor(r *events.Reader) []byte {
	return fmt.Appendf(nil, `{"type":"paddock.cursor","cursor":%q}`, a.cfg.Log.Cursor(r.Position()))
}

func invalid(text string) error { return &wire.Error{Code: wire.InvalidArgument, Msg: text} }
