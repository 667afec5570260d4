//go:build unix

package tunneled

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An awaited line is found among others, and the process ends on demand.
func TestChild(t *testing.T) {
	c, err := spawn(nil, "a shell", "sh", "-c", `trap "exit 0" TERM; echo hello; echo "id:   x y"; while :; do sleep 0.05; done`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.await(t.Context(), "id:"); err != nil || got != "x y" {
		t.Errorf("%q, %v", got, err)
	}
	if err := c.stop(); err != nil {
		t.Error(err)
	}
}

// Of a process that ends by itself the error has the last words.
func TestChildEnds(t *testing.T) {
	c, err := spawn(nil, "a shell", "sh", "-c", "echo hello; echo no port left >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.await(t.Context(), "id:"); err == nil || !strings.Contains(err.Error(), "no port left") || !strings.Contains(err.Error(), "exit status 3") {
			t.Error(err)
		}
	}
	if err := c.stop(); err == nil || !strings.Contains(err.Error(), "by itself") {
		t.Error(err)
	}
}

// Every size that is listed has a length, and others none.
func TestSizes(t *testing.T) {
	for _, size := range Sizes() {
		if n, err := Bytes(size); err != nil || (n == 0) != (size == "corpus") {
			t.Errorf("%s: %d, %v", size, n, err)
		}
	}
	if _, err := Bytes("2KiB"); err == nil {
		t.Error("any size")
	}
}

// Only the levels of interest are read from the output of a side.
func TestLevels(t *testing.T) {
	l := levelsOf(map[string]float64{
		"go_goroutines": 17, "process_resident_memory_bytes": 32e6, `paddock_tunnel_budget_bytes{kind="limit"}`: 100,
		`paddock_tunnel_budget_bytes{kind="held"}`: 40, `paddock_tunnel_backend_conns{state="idle"}`: 4,
	})
	if want := (Levels{Goroutines: 17, Resident: 32e6, Bytes: 40, Backends: 4}); l != want {
		t.Errorf("%+v", l)
	}
	if l.most(&Levels{Bytes: 50, Goroutines: 3}); l.Bytes != 50 || l.Goroutines != 17 {
		t.Errorf("%+v", l)
	}
}
