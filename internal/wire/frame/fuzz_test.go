package frame_test

import (
	"bytes"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// FuzzFrame holds that what Next lets pass is encoded to the same bytes again,
// and that a frame never depends on what follows it.
func FuzzFrame(f *testing.F) {
	for _, v := range readVectors(f, "frames.txt") {
		f.Add(v.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var whole, alone frame.Frame
		n, err := frame.Next(b, receiverMaxFrame, &whole)
		if err != nil {
			failure(t, err)
			return
		}
		if n == 0 {
			return
		}
		if again := frame.AppendFrame(nil, &whole); !bytes.Equal(again, b[:n]) {
			t.Errorf("%v\n%x\nencoded again\n%x", &whole, b[:n], again)
		}
		if m, err := frame.Next(b[:n], receiverMaxFrame, &alone); m != n || err != nil || alone.String() != whole.String() {
			t.Errorf("alone: %d, %v, %v; before others: %d, %v", m, err, &alone, n, &whole)
		}
		checkMeta(t, &whole.Meta)
	})
}

// checkMeta holds that the known keys survive an encoding of their own.
func checkMeta(t *testing.T, m *protocol.Meta) {
	if m.Raw == nil {
		return
	}
	raw := frame.AppendMeta(nil, m)
	f := frame.Frame{Type: frame.RES, Flags: frame.FlagMeta, ID: 0x1001, Meta: protocol.Meta{Raw: raw}}
	var again frame.Frame
	if _, err := frame.Next(frame.AppendFrame(nil, &f), receiverMaxFrame, &again); err != nil {
		t.Fatalf("%x: %v", raw, err)
	}
	if again.Meta.Deadline != m.Deadline || !bytes.Equal(again.Meta.Key, m.Key) ||
		!bytes.Equal(again.Meta.Codec, m.Codec) || again.Meta.Priority != m.Priority {
		t.Errorf("%+v\nagain\n%+v", m, &again.Meta)
	}
}

// strict is another implementation of the same subset of CBOR, but for the order
// of keys and the shortest form, which it does not check when it reads. So it
// must read all that ParseHello reads, and encode it to the same bytes.
var strict = func() (modes struct {
	cbor.DecMode
	cbor.EncMode
},
) {
	var err error
	modes.DecMode, err = cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, MaxNestedLevels: 4,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	if modes.EncMode, err = cbor.CoreDetEncOptions().EncMode(); err != nil {
		panic(err)
	}
	return modes
}()

// FuzzHello holds that a HELLO which is accepted is deterministic CBOR in the
// eyes of another implementation, and that encoding what was read is stable.
func FuzzHello(f *testing.F) {
	for _, v := range readVectors(f, "hello.txt") {
		f.Add(v.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := frame.ParseHello(b)
		if err != nil {
			failure(t, err)
			return
		}
		var values map[uint64]any
		if err := strict.Unmarshal(b, &values); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if again, err := strict.Marshal(values); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x\nis not deterministic: %v\n%x", b, err, again)
		}
		once, err := frame.AppendHello(nil, *h)
		if len(once) > frame.MaxHello {
			t.Fatal("longer than a HELLO may be")
		}
		if err != nil {
			if len(b) > frame.MaxHello {
				return
			}
			t.Fatalf("%v: %v", h, err)
		}
		h2, err := frame.ParseHello(once)
		if err != nil || h2.String() != h.String() {
			t.Errorf("%v\nagain %v, %v", h, h2, err)
		}
	})
}
