package harness

import (
	"errors"
	"os"
	"runtime/pprof"
)

// Profile writes a profile of this process's CPU into a file, until stop.
func Profile(name string) (stop func() error, err error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
