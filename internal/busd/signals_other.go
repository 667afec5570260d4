//go:build !unix

package busd

import (
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
