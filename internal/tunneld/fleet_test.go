package tunneld_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
)

// A list of a whole fleet is read: each vehicle has an id and names of its own.
func TestFleetIsListed(t *testing.T) {
	const vehicles = 7_000 // 1.1 MiB
	var text strings.Builder
	text.WriteString("tunnel:\n  clients:\n")
	for i := range vehicles {
		id := keyid.ID(sha256.Sum256(fmt.Append(nil, i)))
		fmt.Fprintf(&text, "    - {name: bus-%d, id: %s, hosts: [bus-%[1]d.example, \"*.bus-%[1]d.example\"], ports: [\"127.0.0.1:20000-29999\"]}\n", i, id)
	}
	file := filepath.Join(t.TempDir(), "paddock.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := tunneld.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Clients); n != vehicles || s.Clients[n-1].Hosts[1] != "*.bus-6999.example" {
		t.Errorf("%d clients, the last is %+v", n, s.Clients[n-1])
	}
}
