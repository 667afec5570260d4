package cli

import (
	"context"
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

// Lost messages decide the exit code although the objectives cannot be judged, and an interruption
// does before both.
func TestOverall(t *testing.T) {
	missed, unknown := error(exitError{context.Canceled, exitMissed}), error(exitError{context.Canceled, exitUnmeasured})
	for _, c := range [][3]error{{nil, nil, nil}, {unknown, nil, unknown}, {unknown, missed, missed}, {nil, missed, missed}, {context.Canceled, missed, context.Canceled}} {
		if got := overall(c[0], c[1]); got != c[2] {
			t.Errorf("%v and %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// A flag that overload does not use is an error.
func TestFlagsOfOverload(t *testing.T) {
	for want, b := range map[string]tunnelCmd{"--tcp": {TCP: true}, "--out": {replayFlags: replayFlags{Out: "d"}}, "": {Uplink: 20}} {
		if got := b.unusedByOverload(); got != want {
			t.Errorf("%+v: %q", b, got)
		}
	}
}
