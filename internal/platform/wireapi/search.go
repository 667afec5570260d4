package wireapi

import (
	"context"
	"errors"
	"sync"

	"paddock/internal/platform/lookup"
	"paddock/wire"
)

var lookups = sync.Pool{New: func() any { return new(lookup.Lookup) }}

// keptAnswer is the largest buffer of an answer that is reused.
const keptAnswer = 64 << 10

// search serves fence.search. A long answer continues as a stream; its memory counts until the peer
// has received it.
func (a *API) search(_ context.Context, r *wire.Request) error {
	a.handlers.add(1)
	defer a.handlers.add(-1)
	a.counts.searches.Add(1)
	if r.Stream() != nil {
		return &wire.Error{Code: wire.OutOfRange, Msg: "body: larger than a frame; send it in parts"}
	}
	lease := a.large.Lease()
	defer lease.Release()
	l := lookups.Get().(*lookup.Lookup)
	defer func() {
		l.End()
		if l.Hold = nil; cap(l.Answer) > keptAnswer {
			l.Answer = nil
		}
		lookups.Put(l)
	}()
	l.Hold = lease.Hold
	if err := l.Request(a.cfg.Catalog, lookup.Terms{}, r.Body); err != nil {
		return refusal(err)
	}
	return r.Respond(l.Answer)
}

// refusal returns the wire error for a refused look-up.
func refusal(err error) error {
	e, ok := errors.AsType[*lookup.Error](err)
	if !ok {
		return err
	}
	code := map[lookup.Kind]wire.Code{
		lookup.Invalid: wire.InvalidArgument, lookup.NoSet: wire.NotFound,
		lookup.TooLarge: wire.OutOfRange, lookup.NoRoom: wire.ResourceExhausted, lookup.Gone: wire.FailedPrecondition,
	}[e.Kind]
	return &wire.Error{Code: code, Msg: e.Reason}
}
