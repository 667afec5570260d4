package natsload

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// All publishers that wait go on once everything has arrived, though there is one
// token for all of them.
func TestWindowLetsEverybodyGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var arrived, entered atomic.Int64
		w := newWindow(10, arrived.Load)
		if err := w.enter(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			go func() {
				if err := w.enter(t.Context(), 2); err == nil {
					entered.Add(1)
				}
			}()
		}
		synctest.Wait()
		if n := entered.Load(); n != 0 {
			t.Fatalf("%d entered a full window", n)
		}
		arrived.Store(4)
		w.wake()
		synctest.Wait()
		if n := entered.Load(); n > 2 {
			t.Fatalf("with 4 arrived %d entered, of 2 messages each", n)
		}
		arrived.Store(20)
		w.wake()
		synctest.Wait()
		if n := entered.Load(); n != 5 {
			t.Errorf("with all arrived %d of 5 entered", n)
		}
		if err := w.drained(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWindowEndsWithItsContext(t *testing.T) {
	cause := errors.New("a subscriber has failed")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	w := newWindow(1, func() int64 { return 0 })
	if err := w.enter(ctx, 2); !errors.Is(err, cause) {
		t.Errorf("enter: got %v", err)
	}
	if err := w.drained(ctx); !errors.Is(err, cause) {
		t.Errorf("drained: got %v", err)
	}
}
