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

// actions are the signals that mean something.
var actions = map[os.Signal]action{
	syscall.SIGINT: doStop, syscall.SIGTERM: doStopGently, syscall.SIGHUP: doReload, syscall.SIGUSR1: doReopen, syscall.SIGUSR2: doLameDuck,
}

// commands are the words of --signal.
var commands = map[string]syscall.Signal{
	"stop": syscall.SIGKILL, "quit": syscall.SIGINT, "term": syscall.SIGTERM,
	"reopen": syscall.SIGUSR1, "reload": syscall.SIGHUP, "ldm": syscall.SIGUSR2,
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
