package drive

import (
	"context"
	"encoding/binary"
	"fmt"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/peers"
)

// timedEvery is which share of the requests of many callers is timed.
const timedEvery = 32

// newCallers opens n callers, which send numbered requests and check that each answer is their own.
// Each one has had an answer when it returns.
func newCallers(ctx context.Context, s peers.Session, n int) ([]measure.Call, error) {
	callers := make([]measure.Call, n)
	for i := range callers {
		requester, err := s.Requester(ctx)
		if err != nil {
			return nil, err
		}
		body, number := make([]byte, peers.SmallSize), uint64(i)<<40
		callers[i] = func(ctx context.Context) error {
			number++
			binary.LittleEndian.PutUint64(body, number)
			answer, err := requester.Request(ctx, body)
			if err == nil && (len(answer) != len(body) || binary.LittleEndian.Uint64(answer) != number) {
				err = fmt.Errorf("request %#x has the answer to another, of %d bytes", number, len(answer))
			}
			return err
		}
		if err := callers[i](ctx); err != nil {
			return nil, fmt.Errorf("the first request of caller %d: %w", i, err)
		}
	}
	return callers, nil
}

// requests keeps n requests in flight, and times one in every.
func requests(ctx context.Context, s peers.Session, r Remote, o measure.Options, n int, every int64) (*measure.Measurement, error) {
	callers, err := newCallers(ctx, s, n)
	if err != nil {
		return nil, err
	}
	return measure.Calls(ctx, callers, every, peers.SmallSize, o, func() (*measure.Meter, error) { return measure.StartMeter(r) })
}
