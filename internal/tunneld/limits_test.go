package tunneld

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"paddock/tunnel"
)

// Every limit of the library has a key, except for those with a key elsewhere. A printed value
// reads back as it was.
func TestEveryLimitIsRead(t *testing.T) {
	var lines []string
	for name := range limitKeys(&tunnel.Limits{}).fields() {
		value := "7"
		switch name {
		case "direct_wait", "head", "idle", "linger", "return", "stall", "unsent":
			value = "7s"
		}
		lines = append(lines, fmt.Sprintf("%s: %s", name, value))
	}
	s, err := Read("f.yaml", []byte("tunnel: {serve: {listen: 'a:1', limits: {"+strings.Join(lines, ", ")+"}}}\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(s.Serve.Limits)
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Bytes", "Lease": // budget and lease of serve
		default:
			if n := v.Field(i).Int(); n != 7 && n != int64(7*time.Second) {
				t.Errorf("nothing sets %s", name)
			}
		}
	}
	text, err := Print(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read("f.yaml", text, nil, nil)
	if err != nil || again.Serve.Limits != s.Serve.Limits {
		t.Errorf("%v\n%s", err, text)
	}
}

// The budget that holds where none is set is enough for 4,096 clients, and 10,000 want 625 MiB
// (docs/design/tunnel/SCENARIOS.md).
func TestBudgetFor(t *testing.T) {
	for clients, mib := range map[int]int64{0: 0, 4_096: 256, 10_000: 625} {
		if got := BudgetFor(clients) >> 20; got != mib {
			t.Errorf("%d clients: %d MiB, want %d", clients, got, mib)
		}
	}
}
