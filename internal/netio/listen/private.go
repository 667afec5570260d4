package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// privateMode lets only the server's user connect: the permissions of the file are the
// authentication.
const privateMode = 0o600

// ErrInUse refuses the path of a unix socket on which another server listens, or of a file that is
// not a socket.
var ErrInUse = errors.New("in use")

// privateListener removes its file when it is closed, unless another server has replaced the file.
type privateListener struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// Private listens on a unix socket to which only the server's own user can connect. The file is
// created beside path and then renamed, so that it appears with its final mode and accepts
// connections at once. A stale file, which a killed server leaves behind, is replaced.
func Private(path string) (net.Listener, error) {
	if err := checkStale(path); err != nil {
		return nil, err
	}
	beside := path + "~"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ln, err := bindPrivate(beside)
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	file, err := os.Lstat(beside)
	if err == nil {
		err = os.Chmod(beside, privateMode)
	}
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		_ = ln.Close()
		_ = os.Remove(beside)
		return nil, err
	}
	return &privateListener{ln, path, file}, nil
}

// bindPrivate makes the socket.
func bindPrivate(path string) (*net.UnixListener, error) {
	how := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return c.Control(restrict) }}
	ln, err := how.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return ln.(*net.UnixListener), nil
}

// checkStale returns nil if path can be used.
func checkStale(path string) error {
	file, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case file.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket: %w", path, ErrInUse)
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("%s: %w", path, ErrInUse)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	default:
		return fmt.Errorf("%w: %w", err, ErrInUse)
	}
}

// Addr returns the path.
func (l *privateListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close stops listening and removes the file.
func (l *privateListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}
