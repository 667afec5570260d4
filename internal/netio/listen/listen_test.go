package listen

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCheck(t *testing.T) {
	const local, exposed, malformed = "local", "exposed", "malformed"
	for _, tc := range []struct{ addr, want string }{
		{"127.0.0.1:8080", local},
		{"127.8.9.10:0", local},
		{"[::1]:8080", local},
		{"[::ffff:127.0.0.1]:8080", local},
		{"localhost:4222", local},
		{"LocalHost:4222", local},
		{"unix:/run/paddock.sock", local},
		{"unix:paddock.sock", local},
		{"/run/paddock.sock", local},
		{"./paddock.sock", local},

		{":8080", exposed},
		{"0.0.0.0:8080", exposed},
		{"[::]:8080", exposed},
		{"192.0.2.7:8080", exposed},
		{"[fe80::1%eth0]:8080", exposed},
		{"localhost.example.org:8080", exposed},
		{"127.0.0.1.example.org:8080", exposed},

		{"", malformed},
		{"8080", malformed},
		{"127.0.0.1", malformed},
		{"::1:8080", malformed},
		{"unix:", malformed},
		{"127.0.0.1:99999", malformed},
		{"127.0.0.1:-1", malformed},
		{"127.0.0.1:no-such-service", malformed},
	} {
		err := Check(tc.addr, false)
		got := local
		if errors.Is(err, ErrExposed) {
			got = exposed
		} else if err != nil {
			got = malformed
		}
		if got != tc.want {
			t.Errorf("Check(%q) = %v, want %s", tc.addr, err, tc.want)
		}
		if err := Check(tc.addr, true); (err != nil) != (tc.want == malformed) {
			t.Errorf("Check(%q) with authentication = %v", tc.addr, err)
		}
	}
}

func TestTheErrorSaysWhatToDo(t *testing.T) {
	const exposed = `refusing to listen beyond this machine without authentication: ":4222" is every interface; `
	for want, err := range map[string]error{
		"set a token, or listen on 127.0.0.1:4222":             Check(":4222", false),
		"set a user and password, or listen on 127.0.0.1:4222": CheckOr(":4222", false, "set a user and password"),
		"listen on 127.0.0.1:4222":                             CheckOr(":4222", false, ""),
	} {
		if err == nil || err.Error() != exposed+want {
			t.Errorf("%v; want %s%s", err, exposed, want)
		}
	}
}

// The socket of a process that was killed is replaced. One on which a server listens is not, and
// neither is another file.
func TestListenOnASocketThatIsLeft(t *testing.T) {
	dir := t.TempDir()
	socket, file := filepath.Join(dir, "s"), filepath.Join(dir, "file")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	killed.SetUnlinkOnClose(false)
	killed.Close()
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(t.Context(), "unix:"+socket, false)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, path := range []string{socket, file} {
		if ln, err := Listen(t.Context(), "unix:"+path, false); !errors.Is(err, syscall.EADDRINUSE) {
			ln.Close()
			t.Errorf("%s: %v", path, err)
		}
	}
	if conn, err := net.Dial("unix", socket); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	if text, err := os.ReadFile(file); string(text) != "mine" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestListen(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	for _, addr := range []string{"127.0.0.1:0", "unix:" + socket} {
		ln, err := Listen(t.Context(), addr, false)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
		if err != nil {
			t.Errorf("%s: %v", addr, err)
		} else {
			conn.Close()
		}
		ln.Close()
	}
	if ln, err := Listen(t.Context(), "0.0.0.0:0", false); !errors.Is(err, ErrExposed) {
		ln.Close()
		t.Errorf("got %v", err)
	}
}
