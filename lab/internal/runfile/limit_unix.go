//go:build unix

package runfile

import "golang.org/x/sys/unix"

func openFiles() *Limit {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return nil
	}
	return &Limit{uint64(l.Cur), uint64(l.Max)} //nolint:unconvert // signed on some systems
}
