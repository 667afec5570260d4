package busbench

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each name in a goal exists, once.
func TestGoalsAreConsistent(t *testing.T) {
	goals := Goals(harness.Crossed)
	seen := map[string]bool{}
	for _, g := range goals {
		if seen[g.Name] {
			t.Errorf("two goals are called %s", g.Name)
		}
		seen[g.Name] = true
		names := map[string]bool{}
		for _, c := range g.Contenders {
			if names[c.Name] {
				t.Errorf("%s: two contenders are called %s", g.Name, c.Name)
			}
			names[c.Name] = true
			if _, err := find(c.Operation); err != nil {
				t.Errorf("%s: %v", g.Name, err)
			}
			if c.Pin != harness.Crossed {
				t.Errorf("%s: %s is not pinned", g.Name, c.Name)
			}
		}
		for _, c := range g.Contenders {
			if base := g.BaseOf(c); base != "" && !names[base] {
				t.Errorf("%s: %s is divided by %s, which does not run", g.Name, c.Name, base)
			}
		}
		for _, bar := range g.Bars {
			if !names[bar.Contender] || !names[bar.Base] {
				t.Errorf("%s: %s", g.Name, bar.Rule())
			}
		}
	}
	for _, name := range []string{"PubNoPayload", "PubFourQueueSub", "stalled"} {
		if !seen[name] {
			t.Errorf("no goal %s", name)
		}
	}
}

// The version in --list is the one that is built.
func TestReferenceVersion(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil || !strings.Contains(string(text), "github.com/nats-io/nats-server/v2 "+referenceVersion+"\n") {
		t.Errorf("go.mod does not require nats-server %s (%v)", referenceVersion, err)
	}
}

// The clock of another process agrees with the kernel's numbers at its end.
func TestProcessUsage(t *testing.T) {
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; read line")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	got, err := measure.ProcessUsage(cmd.Process.Pid)
	in.Close()
	_ = cmd.Wait() // read has reached its end
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if got.Total() < want/2 || got.Total() > want {
		t.Errorf("got %v while it ran, %v when it had ended", got.Total(), want)
	}
	if _, err := measure.ProcessUsage(cmd.Process.Pid); err == nil {
		t.Error("a process that has ended still has a clock")
	}
}
