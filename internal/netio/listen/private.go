package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// privateMode lets the server's user alone connect: the file is the admission.
const privateMode = 0o600

// ErrInUse refuses the path of a unix socket at which another server answers, or
// that is something else.
var ErrInUse = errors.New("in use")

// privateListener takes its file away when it is closed, unless another server has
// put its own in its place.
type privateListener struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// Private listens at a unix socket that nobody but the own user may connect to. The
// file appears at path with its final mode, after it is listened on: it is made beside
// and moved. One that nobody listens on any more, which a server that was killed leaves
// behind, is replaced.
func Private(path string) (net.Listener, error) {
	if err := checkStale(path); err != nil {
		return nil, err
	}
	beside := path + "~"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: beside, Net: "unix"})
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

// checkStale says whether path may be taken.
func checkStale(path string) error {
	file, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case file.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is no socket: %w", path, ErrInUse)
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

// Addr is the path.
func (l *privateListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close ends listening, and takes the file away.
func (l *privateListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}
