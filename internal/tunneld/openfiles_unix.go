//go:build unix

package tunneld

import "golang.org/x/sys/unix"

// OpenFiles is how many files this process may have open, sockets among them (ulimit -n, up to
// its hard limit); 0 is unknown.
func OpenFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(l.Cur, 1<<30))
}
