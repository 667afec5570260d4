//go:build !unix

package busd

import (
	"errors"
	"io"
	"os"
	"syscall"
)

var trapped = []os.Signal{os.Interrupt, syscall.SIGTERM}

var commands = map[string]syscall.Signal{"stop": syscall.SIGKILL}

func meaning(sig os.Signal) action {
	switch sig {
	case os.Interrupt:
		return doStop
	case syscall.SIGTERM:
		return doStopGently
	}
	return doNothing
}

func openSyslog(Log) (io.WriteCloser, error) {
	return nil, errors.New("there is no syslog on this system")
}
