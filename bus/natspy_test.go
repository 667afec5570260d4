package bus_test

import (
	"cmp"
	"os"
	"os/exec"
	"testing"

	"paddock/bus"
)

// TestPythonClient runs testdata/client.py, the same promises seen by a second,
// independent implementation of the protocol. PADDOCK_PYTHON names the
// interpreter; PADDOCK_REQUIRE_PY=1 makes its absence a failure.
func TestPythonClient(t *testing.T) {
	python := cmp.Or(os.Getenv("PADDOCK_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import nats").CombinedOutput(); err != nil {
		absent := t.Skipf
		if os.Getenv("PADDOCK_REQUIRE_PY") == "1" {
			absent = t.Fatalf
		}
		absent("no Python with nats-py (%s): %v %s", python, err, out)
	}
	open := startServer(t, bus.Config{DenyPublish: []string{"fence.>"}, MaxPayload: 1 << 16})
	closed := startServer(t, bus.Config{Username: "ann", Password: "secret"})
	cmd := exec.CommandContext(t.Context(), python, "testdata/client.py", open.Addr().String(), closed.Addr().String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if st := open.Stats(); st.Refused != 1 || st.SlowConsumers != 0 || st.Closed[bus.ProtocolViolation] != 0 {
		t.Errorf("%+v", st)
	}
}
