package bus

import (
	"errors"
	"os"
	"testing"
	"time"
)

// A peer that has TLS answer it, by asking for new keys again and again, and does
// not read, gathers a bounded amount.
func TestUnaskedRecordsAreBounded(t *testing.T) {
	s := &tlsSocket{detached: true}
	record := make([]byte, 100)
	var err error
	n := 0
	for ; err == nil && n < 1<<20; n += len(record) {
		_, err = s.Write(record)
	}
	if !errors.Is(err, errUnreadRecords) || n > maxSealed+2*len(record) {
		t.Errorf("%d bytes: %v", n, err)
	}
	if got := len(s.takeOutput()); got > maxSealed || s.out != nil {
		t.Errorf("%d bytes are kept", got)
	}
	if _, err := s.Read(record); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading nothing: %v", err)
	}
}

func TestHandshakeRate(t *testing.T) {
	var h throttle
	for range 100 {
		if !h.allow(0) {
			t.Fatal("no limit refuses")
		}
	}
	h.until = time.Now().Add(time.Hour)
	for i := range 5 {
		if h.allow(3) != (i < 3) {
			t.Errorf("handshake %d", i)
		}
	}
	h.until = time.Now()
	if !h.allow(3) {
		t.Error("the next window refuses")
	}
}
