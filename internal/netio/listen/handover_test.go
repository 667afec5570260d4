package listen_test

import (
	"errors"
	"net"
	"testing"

	"paddock/internal/netio/listen"
)

func TestHandover(t *testing.T) {
	h := listen.NewHandover(nil)
	near, far := net.Pipe()
	defer near.Close()
	go h.Give(far)
	if got, err := h.Accept(); got != far || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	_ = h.Close()
	_ = h.Close()
	if h.Give(far) {
		t.Error("it takes a connection when it is closed")
	}
	if _, err := h.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
