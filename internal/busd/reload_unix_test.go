//go:build unix

package busd

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/internal/process/notify"
)

// The watchdog is restarted while a reload takes long: here it reads a pipe.
func TestBeatsDuringAReload(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	messages := make(chan string, 1<<14)
	go func() {
		defer close(messages)
		for b := make([]byte, 4096); ; {
			n, err := conn.Read(b)
			if err != nil {
				return // closed at the end
			}
			messages <- string(b[:n])
		}
	}()
	defer func() {
		conn.Close()
		for range messages { //nolint:revive // until the goroutine has ended
		}
	}()
	manager, err := notify.Open([]string{"NOTIFY_SOCKET=" + name, "WATCHDOG_USEC=20000"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	await := func(first string) {
		t.Helper()
		for limit := time.After(20 * time.Second); ; {
			select {
			case m := <-messages:
				if strings.HasPrefix(m, first+"\n") {
					return
				}
			case <-limit:
				t.Errorf("no %s", first)
				return
			}
		}
	}
	r := startManaged(t, "port: -1", manager)
	if err := os.Remove(r.file()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(r.file(), 0o600); err != nil {
		t.Fatal(err)
	}
	r.signals <- syscall.SIGHUP
	await("RELOADING=1")
	for range 3 {
		await("WATCHDOG=1")
	}
	r.configure("port: -1, max_payload: 1234")
	await("READY=1")
	r.await("Reloaded server configuration")
	if err := r.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
