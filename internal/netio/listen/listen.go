// Package listen opens listeners under two rules: a service without authentication is reachable
// from this machine only, and the number of open connections has a bound.
//
// An address is host:port, :port (all interfaces), or a unix socket as unix:path or a path with a
// slash in it. A unix socket is as private as its directory's permissions, so it counts as this
// machine.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
)

// ErrExposed is wrapped by the error about an address that other machines could reach without
// credentials.
var ErrExposed = errors.New("refusing to listen beyond this machine without authentication")

const unixPrefix = "unix:"

// Check returns nil if a service that can require a token may listen on addr. authenticated reports
// that it refuses clients without credentials.
func Check(addr string, authenticated bool) error {
	return CheckOr(addr, authenticated, "set a token")
}

// CheckOr is Check for a service with other credentials. The error suggests remedy as the way to
// require them; "" means that the service has none.
func CheckOr(addr string, authenticated bool, remedy string) error {
	if IsUnix(addr) {
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		err = checkPort(port)
	}
	if err != nil {
		return fmt.Errorf("address %q is not host:port or unix:path: %w", addr, err)
	}
	if authenticated || isLoopback(host) {
		return nil
	}
	where := host
	if isUnspecified(host) {
		where = "every interface"
	}
	if remedy != "" {
		remedy += ", or "
	}
	return fmt.Errorf("%w: %q is %s; %slisten on 127.0.0.1:%s", ErrExposed, addr, where, remedy, port)
}

// OrElse adds a hint to an error about an address in use: the flag that takes another address. It
// returns other errors unchanged.
func OrElse(err error, flag string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: another program listens there; %s takes another address", err, flag)
}

// checkPort checks that a port is a number up to 65535 or the name of a service.
func checkPort(port string) error {
	if port == "" {
		return errors.New("no port")
	}
	_, err := net.LookupPort("tcp", port)
	return err
}

// Listen checks addr and opens a listener. Port 0 takes a free port. The socket that a killed
// process has left is replaced.
func Listen(ctx context.Context, addr string, authenticated bool) (net.Listener, error) {
	if err := Check(addr, authenticated); err != nil {
		return nil, err
	}
	path, isUnix := unixPath(addr)
	if !isUnix {
		return new(net.ListenConfig).Listen(ctx, "tcp", addr)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && checkStale(path) == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		l, err = new(net.ListenConfig).Listen(ctx, "unix", path)
	}
	return l, err
}

// IsUnix reports whether addr is the address of a unix socket.
func IsUnix(addr string) bool {
	_, ok := unixPath(addr)
	return ok
}

// unixPath returns the path of a unix socket address.
func unixPath(addr string) (path string, ok bool) {
	if path, ok = strings.CutPrefix(addr, unixPrefix); ok {
		return path, path != ""
	}
	return addr, strings.Contains(addr, "/")
}

// isLoopback reports whether only this machine can reach host. A name other than localhost is not
// looked up, because its address may change.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

func isUnspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.Unmap().IsUnspecified()
}

// minPause and maxPause bound the pause after an Accept that has failed. It doubles from one to the
// other, and is short again after the next connection.
const minPause, maxPause = 5 * time.Millisecond, time.Second

// Accept calls serve with each connection of l, until ctx ends. failed is called with the error of
// an Accept and the pause that follows it; an error of its own ends Accept, which returns it.
func Accept(ctx context.Context, l net.Listener, serve func(net.Conn), failed func(err error, pause time.Duration) error) error {
	for pause := minPause; ; {
		conn, err := l.Accept()
		if err == nil {
			pause = minPause
			serve(conn)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := failed(err, pause); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}
