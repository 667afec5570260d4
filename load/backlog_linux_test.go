package load_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/load"
)

// narrow listens at a path, with room for few connections that have not been accepted.
func narrow(t *testing.T, path string) net.Listener {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A connection for which a unix socket has no room could not be made, with both engines: nothing is
// written to it.
func TestNoRoomForConnections(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, e load.Engine) {
		path := filepath.Join(t.TempDir(), "s")
		l := narrow(t, path)
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			if c, err := l.Accept(); err == nil { // the probe, and none behind it
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
		}()
		r, err := load.Run(t.Context(), load.Plan{
			Network: "unix", Address: path, Codec: ping(8), Conns: 8, Count: 100, Duration: 300 * time.Millisecond, Grace: time.Millisecond, Engine: e,
		}, nil)
		l.Close()
		<-accepted
		if err != nil {
			t.Fatal(err)
		}
		if v := &r.Total; v.Failed[load.ClassWrite] != 0 || v.Failed[load.ClassConnect] == 0 || v.Connects > 3 {
			t.Errorf("%d connections, %v", v.Connects, v.Failed)
		}
	})
}
