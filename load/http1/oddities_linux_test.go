package http1_test

import (
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/load"
	"paddock/load/http1"
)

// Where there are no more descriptors, connections wait for some, and that is counted.
func TestOutOfFiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // whose queue is enough to connect
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = uint64(len(open) + 20)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	engines(t, func(t *testing.T, e load.Engine) {
		var arena http1.Arena
		if err := arena.Add(&http1.Request{URL: "http://a"}); err != nil {
			t.Fatal(err)
		}
		r, err := load.Run(t.Context(), load.Plan{
			Address: l.Addr().String(), Codec: &http1.Codec{Requests: &arena}, Conns: 40, Duration: time.Second, Grace: time.Millisecond, Engine: e,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Total.Failed[load.ClassFiles] == 0 || r.Total.Connects == 0 {
			t.Errorf("%d connections, %v", r.Total.Connects, r.Total.Failed)
		}
	})
}
