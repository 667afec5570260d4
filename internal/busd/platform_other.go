//go:build !unix

package busd

import (
	"errors"
	"io"
	"os"
	"syscall"
)

var actions = map[os.Signal]action{os.Interrupt: doStop, syscall.SIGTERM: doStopGently}

var commands = map[string]syscall.Signal{"stop": syscall.SIGKILL}

func openSyslog(Log) (io.WriteCloser, error) {
	return nil, errors.New("there is no syslog on this system")
}
