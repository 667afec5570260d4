//go:build !race

package bus

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"testing"
)

// A batch costs no memory: neither for messages that go somewhere, nor for those
// that go nowhere, subjects that come once, requests with their answers.
func TestRoutingDoesNotAllocate(t *testing.T) { routesWithoutMemory(t, Config{}, "") }

// Neither does it where permissions are looked at, for subjects that come again
// and subjects that come once, and where wildcards are filtered.
func TestPermissionsDoNotAllocate(t *testing.T) {
	p := &Permissions{
		Publish:   SubjectPermission{Allow: []string{"a.*", "q.>", "in.>", "nowhere", "*.or.here"}, Deny: []string{"a.secret", "*.*.secret"}},
		Subscribe: SubjectPermission{Deny: []string{"a.secret", "q.7", "q.*.q r"}},
		// The replies may be published to anyway: they are not remembered.
		AllowResponses: &ResponsePermission{},
	}
	routesWithoutMemory(t, Config{Users: []User{{Name: "u", Password: "p", Permissions: p}}}, `,"user":"u","pass":"p"`)
}

func routesWithoutMemory(t *testing.T, cfg Config, credentials string) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, far := idleClient(t, s)
	var setup, batch bytes.Buffer
	setup.WriteString("CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true" + credentials + "}\r\n")
	setup.WriteString("SUB a.b 1\r\nSUB a.* 2\r\nSUB q.> q 3\r\nSUB q.> q 4\r\nSUB in.> 5\r\n")
	if !c.in.handle(setup.Bytes()) {
		t.Fatal("closed")
	}
	fits := fitting()
	for i, n := 0, 0; n < 20; i++ {
		if !fits("a.b", "a.x", "nowhere", fmt.Sprint("q.", i), fmt.Sprint("in.1.", i)) {
			continue
		}
		n++
		fmt.Fprintf(&batch, "PUB a.b 5\r\nhello\r\nPUB q.%d in.%d 3\r\nabc\r\nPUB nowhere 0\r\n\r\nPUB in.1.%d 1\r\nx\r\n", i, i, i)
		fmt.Fprintf(&batch, "HPUB a.x 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
	}
	batch.WriteString("PING\r\n")
	c.in.handle(batch.Bytes())
	buf := make([]byte, c.out.written) // the output for one batch
	read := func() {                   // so that nothing has to wait
		if _, err := io.ReadFull(far, buf); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(200, func() {
		if !c.in.handle(batch.Bytes()) {
			t.Fatal("closed")
		}
		read()
	}); n != 0 {
		t.Errorf("%v allocations for a batch", n)
	}
}

// fitting returns a function that reports whether a router's cache has room for subjects beside all
// earlier ones. Subjects without a place of their own evict each other, which allocates each time.
func fitting() func(subjects ...string) bool {
	places, known := map[uint64]int{}, map[string]bool{}
	return func(subjects ...string) bool {
		var fresh []string
		for _, s := range subjects {
			at := maphash.String(seed, s) % receiverEntries / 2
			switch {
			case known[s]:
			case places[at] == 2:
				for _, s := range fresh {
					known[s] = false
					places[maphash.String(seed, s)%receiverEntries/2]--
				}
				return false
			default:
				known[s], fresh = true, append(fresh, s)
				places[at]++
			}
		}
		return true
	}
}

// Nor does a fan-out, which goes as runs.
func TestRunsDoNotAllocate(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, far := idleClient(t, s)
	other, farther := idleClient(t, s)
	for i, client := range []*client{c, other} {
		if !client.in.handle(fmt.Appendf(nil, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB fan sid%d\r\n", i)) {
			t.Fatal("closed")
		}
	}
	batch := []byte(strings.Repeat("PUB fan 5\r\nhello\r\n", 300))
	c.in.handle(batch)
	buf, buf2 := make([]byte, c.out.written), make([]byte, other.out.written)
	read := func() {
		_, err := io.ReadFull(far, buf)
		_, err2 := io.ReadFull(farther, buf2)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	}
	read()
	if s.Stats().OutMsgs != 600 {
		t.Fatal("not everything was delivered")
	}
	if n := testing.AllocsPerRun(200, func() {
		c.in.handle(batch)
		read()
	}); n != 0 {
		t.Errorf("%v allocations for a batch", n)
	}
}
