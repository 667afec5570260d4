package cli

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The help of --max-conns states the default.
func TestHelpOfMaxConns(t *testing.T) {
	flag, _ := reflect.TypeFor[loadFlags]().FieldByName("MaxConns")
	if help, want := flag.Tag.Get("help"), fmt.Sprintf("(default %d)", defaultMaxConns); !strings.Contains(help, want) {
		t.Errorf("%q does not say %q", help, want)
	}
}
