package journalcheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"paddock/lab/compare/internal/nats/servers"
)

// Tests of a platform on one machine pass for one that is the node of a cluster: the oracle of the
// events of a city, and the one that kills the process.
func TestOfOneMachine(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".."))
	ok(t, err)
	for test, pkg := range map[string]string{"TestNYC": "./internal/platform", "TestPlatformIsKilled": "./cmd/paddock"} {
		t.Run(test, func(t *testing.T) {
			c := servers.Start(t, 3)
			do := func(args ...string) {
				t.Helper()
				run := exec.CommandContext(t.Context(), "go", args...)
				run.Dir = root
				run.Env = append(os.Environ(), "PADDOCK_CLUSTER_URL="+c.URL(), "PADDOCK_PLATFORM_KILLS=4")
				if out, err := run.CombinedOutput(); err != nil {
					t.Fatalf("go %v: %v\n%s", args, err, out)
				}
			}
			do("run", "./cmd/paddock", "cluster", "init")
			do("test", "-count", "1", "-run", "^"+test+"$", pkg)
		})
	}
}
