package perf

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"paddock/wire"
)

// Only a call that had no effect for certain counts as not sent.
func TestSentBy(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Sent
	}{
		{wire.ErrNotSent, SentNot},
		{fmt.Errorf("%w: %w", wire.ErrNotSent, context.DeadlineExceeded), SentNot},
		{wire.ErrDraining, SentNot},
		{&wire.Error{Code: wire.Unavailable, NotStarted: true}, SentNot},
		{wire.ErrMaybeSent, SentMaybe},
		{wire.ErrClosed, SentMaybe},
		{context.DeadlineExceeded, SentMaybe},
		{&wire.Error{Code: wire.DeadlineExceeded}, SentMaybe}, // at the peer, before or after its handler began
		{errors.New("read: connection reset by peer"), SentMaybe},
		{&wire.Error{Code: wire.Internal}, SentYes},
		{fmt.Errorf("answer 1 of 4: %w", errBody), SentYes},
	} {
		if got := sentBy(tc.err); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}
