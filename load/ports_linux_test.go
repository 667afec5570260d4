package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/load"
)

// ports is how many a process of TestOutOfPorts may dial from.
const ports = 10

// TestOutOfPorts holds that connections for which there is no port are counted as
// that, and that those which have one go on. It runs in a network of its own.
func TestOutOfPorts(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"=dialer")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		child.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	}
	var problems bytes.Buffer
	child.Stderr = &problems
	text, err := child.Output()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip("this system lets nobody make a network:", err)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	var found map[string]dialed
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, engine := range []string{"epoll", "portable"} {
		d := found[engine]
		if d.Connects == 0 || d.Connects > ports || d.NoPort == 0 || d.Done == 0 || d.Others != "" {
			t.Errorf("%s, with %d ports for 40 connections: %+v", engine, ports, d)
		}
	}
}

// dialed is the result of a run.
type dialed struct {
	Connects, NoPort, Done int64
	Others                 string
}

// dial is the process of TestOutOfPorts.
func dial() {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	fatal(err)
	lo, err := unix.NewIfreq("lo")
	fatal(err)
	lo.SetUint16(unix.IFF_UP)
	fatal(unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo))
	fatal(unix.Close(s))
	fatal(os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", fmt.Appendf(nil, "40000 %d", 40000+ports-1), 0))

	found := map[string]dialed{}
	for name, engine := range map[string]load.Engine{"epoll": load.Epoll, "portable": load.Portable} {
		found[name] = dialWith(engine)
	}
	fatal(json.NewEncoder(os.Stdout).Encode(found))
}

// dialWith dials a service of its own: the ports of connections that have ended to
// another one are free for it.
func dialWith(engine load.Engine) dialed {
	l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 7000+int(engine)))
	fatal(err)
	go func() {
		for {
			c, err := l.Accept()
			fatal(err)
			go func() {
				b := make([]byte, 4)
				for {
					if _, err := c.Read(b); err != nil {
						_ = c.Close()
						return
					}
					_, _ = c.Write([]byte("pong"))
				}
			}()
		}
	}()
	r, err := load.Run(context.Background(), load.Plan{
		Address: l.Addr().String(), Codec: &load.Raw{Request: []byte("ping"), Answer: 4}, Conns: 40, Duration: time.Second,
		Grace: 10 * time.Millisecond, Engine: engine,
	}, nil)
	fatal(err)
	f := r.Total.Failed
	d := dialed{Connects: int64(r.Total.Connects), NoPort: int64(f[load.ClassPorts]), Done: int64(f[load.ClassOK])}
	for class, n := range f {
		if n > 0 && load.Class(class) != load.ClassPorts && load.Class(class) != load.ClassOK {
			d.Others += fmt.Sprint(load.Class(class), " ", n, "; ")
		}
	}
	return d
}
