package sourcetest

import (
	"net"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A broker accepts messages, also after a restart at the same address, and nothing is left of it.
func TestBroker(t *testing.T) {
	b := Mosquitto(t)
	b.Publish("a/b", "text", 1)
	b.Stop()
	if conn, err := net.Dial("tcp", b.Addr); err == nil {
		_ = conn.Close()
		t.Error("it still accepts connections")
	}
	b.Restart()
	b.Publish("a/b", "text", 1)
}
