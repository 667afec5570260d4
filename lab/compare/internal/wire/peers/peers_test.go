package peers

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// The peers are tested where they are measured, in package drive.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFind(t *testing.T) {
	for _, p := range All() {
		if found, err := Find(p.Name); err != nil || found.About != p.About {
			t.Errorf("%s: %v, %q", p.Name, err, found.About)
		}
	}
	if _, err := Find("http"); err == nil || !strings.Contains(err.Error(), "wire, raw, grpc") {
		t.Errorf("an unknown peer: %v", err)
	}
}

func TestSinkAddsUpItsCounters(t *testing.T) {
	var sink Sink
	var adding sync.WaitGroup
	for i := range 8 {
		adding.Go(func() {
			for range 1000 {
				sink.Add(1, i)
			}
			if _, err := sink.Write(make([]byte, 10)); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	if messages, bytes := sink.Totals(); messages != 8000 || bytes != 28000+80 {
		t.Errorf("got %d messages, %d bytes", messages, bytes)
	}
}

func TestCertificateIsGoodForLoopbackAlone(t *testing.T) {
	server, der, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	client, err := ClientTLS(der)
	if err != nil {
		t.Fatal(err)
	}
	if err := handshake(client, server); err != nil {
		t.Error(err)
	}
	stranger, _, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	if err := handshake(client, stranger); err == nil {
		t.Error("another certificate was accepted")
	}
}

// handshake returns the client's error about the server.
func handshake(client, server *tls.Config) error {
	near, far := net.Pipe()
	defer near.Close()
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = tls.Server(far, server).Handshake() // the client's word counts
		far.Close()
	})
	defer serving.Wait()
	defer near.Close()
	return tls.Client(near, client).Handshake()
}
