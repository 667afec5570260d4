package process

import (
	"crypto/sha256"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// The machine and the process of a service are watched if the service is on this machine.
func TestWatchTarget(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads Linux's /proc")
	}
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		target := WatchTarget(network, l.Addr().String())
		const work = 30 * time.Millisecond // more than a tick of the machine's counters
		before, err := CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		for now := before; now < before+work; now, _ = CPU(os.Getpid()) {
			sha256.Sum256(make([]byte, 1<<16))
		}
		u := target.Since()
		if u == nil || u.Length <= 0 || u.User+u.System <= 0 || u.Idle < 0 || u.Switches <= 0 || u.Available <= 0 {
			t.Fatalf("%s: the machine: %+v", network, u)
		}
		if s := u.Service; s == nil || !slices.Equal(s.Processes, []int{os.Getpid()}) || s.CPU < work || s.Resident < 1<<20 {
			t.Errorf("%s: the service: %+v", network, s)
		}
		if again := target.Since(); again.Service.CPU >= u.Service.CPU {
			t.Errorf("%s: the second reading has %v, the first had %v: it is no difference", network, again.Service.CPU, u.Service.CPU)
		}
	}
	if target := WatchTarget("tcp", "192.0.2.1:80"); target != nil || target.Since() != nil { // TEST-NET-1
		t.Error("another machine is watched")
	}
}

// A sum has the sums of times and counts, the most memory of the service and the least that was
// left.
func TestTargetUseAdd(t *testing.T) {
	waited := 3 * time.Second
	var sum TargetUse
	sum.Add(&TargetUse{Length: 1, User: 2, Available: 10, Waited: &waited, Service: &ServiceUse{Processes: []int{1}, CPU: 5, Resident: 7}})
	sum.Add(&TargetUse{Length: 1, User: 3, Available: 20, Waited: &waited, Service: &ServiceUse{Processes: []int{1}, CPU: 6, Resident: 4}})
	sum.Add(&TargetUse{Dropped: 4, Available: 15}) // the service has ended
	if sum.Length != 2 || sum.User != 5 || sum.Available != 10 || *sum.Waited != 2*waited || sum.Dropped != 4 ||
		sum.Service.CPU != 11 || sum.Service.Resident != 7 || !slices.Equal(sum.Service.Processes, []int{1}) {
		t.Errorf("%+v, %+v", sum, sum.Service)
	}
}
