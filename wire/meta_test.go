package wire_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"paddock/wire"
)

// Metadata that the peer would refuse fails its own call or stream, and nothing else.
func TestIllegalMetaIsNotSent(t *testing.T) {
	for name, meta := range map[string]wire.Meta{
		"key":         {Key: make([]byte, 65)},
		"traceparent": {Traceparent: []byte("\xff")},
		"codec":       {Codec: []byte("\xff")},
		"long":        {Traceparent: make([]byte, 8192)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := sinkMux()
				b := &backend{config: &wire.Config{Mux: mux, Logger: quiet}}
				c := b.client(t, wire.ClientConfig{})
				freed := 0
				free := func() { freed++ }
				ctx := within(t, time.Minute)
				if _, err := c.CallStream(ctx, "echo", nil, wire.CallOptions{Meta: meta, SlotFree: free}); !errors.Is(err, wire.ErrMeta) {
					t.Errorf("call: %v", err)
				}
				if _, err := c.Open(ctx, "echo", wire.OpenOptions{Meta: meta, SlotFree: free}); !errors.Is(err, wire.ErrMeta) {
					t.Errorf("open: %v", err)
				}
				mustCall(t, c, "still there")
				if n := c.Stats().Connects; n != 1 || freed != 2 {
					t.Errorf("%d connections, %d slots are free", n, freed)
				}
			})
		})
	}
}

// The longest legal metadata arrives.
func TestLongMeta(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		want := wire.Meta{Traceparent: make([]byte, 8000), Key: make([]byte, 64)}
		mux.HandleRequest("meta", func(_ context.Context, r *wire.Request) error {
			if len(r.Meta.Traceparent) != 8000 || len(r.Meta.Key) != 64 {
				t.Errorf("%d and %d bytes", len(r.Meta.Traceparent), len(r.Meta.Key))
			}
			return r.Respond(nil)
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		if _, err := d.CallStream(t.Context(), "meta", nil, wire.CallOptions{Meta: want}); err != nil {
			t.Error(err)
		}
		settled(t, d, a)
	})
}

// An error goes without details that are not an item of the protocol's CBOR.
func TestIllegalDetailsAreNotSent(t *testing.T) {
	for name, details := range map[string][]byte{
		"float":    {0xf9, 0x3c, 0x00},
		"tag":      {0xc1, 0x01},
		"unsorted": {0xa2, 2, 0, 1, 0},
		"cut off":  {0xa1, 1},
		"more":     {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				wire.Handle(mux, "fail", func(context.Context, []byte) ([]byte, error) {
					return nil, &wire.Error{Code: wire.NotFound, Msg: "no such vehicle", Details: details}
				})
				d, a := piped(t, nil, &wire.Config{Mux: mux})
				var e *wire.Error
				_, err := d.Call(t.Context(), "fail", nil)
				if !errors.As(err, &e) || e.Msg != "no such vehicle" || e.Details != nil {
					t.Errorf("got %v", err)
				}
				settled(t, d, a)
			})
		})
	}
}
