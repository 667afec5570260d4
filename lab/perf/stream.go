package perf

import (
	"encoding/binary"
	"errors"

	"paddock/wire"
)

// streamOrder is the first data of a client on perf.streamrx: two u64.
type streamOrder struct {
	Messages, Payload int
}

const orderSize = 16

var errOrder = errors.New("wireperf: no order for a stream")

func (o streamOrder) append(dst []byte) []byte {
	for _, v := range []int{o.Messages, o.Payload} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

func parseOrder(b []byte) (o streamOrder, err error) {
	if len(b) != orderSize {
		return o, errOrder
	}
	for i, v := range []*int{&o.Messages, &o.Payload} {
		*v = int(binary.LittleEndian.Uint64(b[8*i:]))
	}
	checked := Options{Do: StreamRx, Count: 1, Routines: 1, Conns: 1, Batch: 1, Payload: o.Payload, Stream: o.Messages, Sample: 1}
	return o, checked.Check()
}

// writeMessages writes the message n times.
func writeMessages(s *wire.Stream, message []byte, n int) error {
	for range n {
		if err := s.WriteMsg(message); err != nil {
			return err
		}
	}
	return nil
}
