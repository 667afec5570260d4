package bus_test

import (
	"os/exec"
	"testing"

	"paddock/bus"
	"paddock/bus/bustest"
)

// TestPythonClient runs testdata/client.py, the same promises seen by a second,
// independent implementation of the protocol.
func TestPythonClient(t *testing.T) {
	python := bustest.Python(t)
	open := startServer(t, bus.Config{DenyPublish: []string{"fence.>"}, MaxPayload: 1 << 16})
	closed := startServer(t, bus.Config{Username: "ann", Password: "secret"})
	secure := startServer(t, bus.Config{TLS: &bus.TLS{Config: serverConfig(t)}})
	cmd := exec.CommandContext(t.Context(), python, "testdata/client.py",
		open.Addr().String(), closed.Addr().String(), secure.Addr().String(), theAuthority().file(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if st := open.Stats(); st.Refused != 1 || st.SlowConsumers != 0 || st.Closed[bus.ProtocolViolation] != 0 {
		t.Errorf("%+v", st)
	}
}
