//go:build unix

package busd

import (
	"os"
	"syscall"
)

// trapped are the signals that mean something.
var trapped = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// commands are the words of --signal.
var commands = map[string]syscall.Signal{
	"stop": syscall.SIGKILL, "quit": syscall.SIGINT, "term": syscall.SIGTERM,
	"reopen": syscall.SIGUSR1, "reload": syscall.SIGHUP, "ldm": syscall.SIGUSR2,
}

func meaning(sig os.Signal) action {
	switch sig {
	case syscall.SIGINT:
		return doStop
	case syscall.SIGTERM:
		return doStopGently
	case syscall.SIGHUP:
		return doReload
	case syscall.SIGUSR1:
		return doReopen
	case syscall.SIGUSR2:
		return doLameDuck
	}
	return doNothing
}
