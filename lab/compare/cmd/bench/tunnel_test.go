package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Ours is measured beside nginx alone where no other program is installed. A line names each
// contender that is left out.
func TestTunnelAlone(t *testing.T) {
	needsPrograms(t)
	for _, program := range []string{"nginx", "wrk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	out, err := compare(t.Context(), "tunnel", "--only", "tcp,size-corpus")
	if err != nil || strings.Contains(out, "failed") {
		t.Errorf("%v\n%s", err, out)
	}
	contains(t, out, "not here, and left out: no-rathole, no-ssh", "cannot: no no-rathole here", "bar: paddock tcp, plain <= 1x rathole, plain")
}
