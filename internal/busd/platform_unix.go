//go:build unix

package busd

import (
	"fmt"
	"io"
	"log/syslog"
	"net/url"
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

// openSyslog connects to the system's log, or to a syslog server.
func openSyslog(log Log) (io.WriteCloser, error) {
	if log.Remote == "" {
		return syslog.New(syslog.LOG_DAEMON|syslog.LOG_NOTICE, ProgramTag)
	}
	u, err := url.Parse(log.Remote)
	if err != nil {
		return nil, fmt.Errorf("remote_syslog: %w", err)
	}
	switch u.Scheme {
	case "udp", "tcp":
		return syslog.Dial(u.Scheme, u.Host, syslog.LOG_DAEMON|syslog.LOG_NOTICE, ProgramTag)
	case "unix":
		return syslog.Dial("unixgram", u.Path, syslog.LOG_DAEMON|syslog.LOG_NOTICE, ProgramTag)
	}
	return nil, fmt.Errorf("remote_syslog: %q is neither udp://, tcp:// nor unix://", log.Remote)
}
