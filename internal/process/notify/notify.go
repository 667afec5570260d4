// Package notify reports the state of the process to the service manager that has started it: the
// protocol of sd_notify(3), which systemd and others speak.
//
// A message is one datagram of lines KEY=VALUE to the Unix socket that NOTIFY_SOCKET names.
// Without this variable there is no manager, and nothing is sent.
package notify

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// maxStatus bounds the text of a status in bytes. A longer one is cut.
	maxStatus = 256
	// sendTime bounds the wait for a manager that does not read. The message is dropped then.
	sendTime = 5 * time.Second
	// statusTime is the same for a status alone, which the next one replaces. A start has one for
	// each service.
	statusTime = 50 * time.Millisecond
)

// Manager is the service manager of the process. Its methods are safe for concurrent use. A nil
// Manager is none: its methods do nothing.
type Manager struct {
	addr     *net.UnixAddr
	interval time.Duration // of the watchdog, 0: none

	mu    sync.Mutex // orders messages
	state state
}

// state of the process, as the manager knows it.
type state int

const (
	starting state = iota
	ready          // or reloading
	stopping
)

// Open returns the manager that the environment of a process names, or nil if it names none. pid is
// the id of the process: a watchdog of another process is ignored.
func Open(environ []string, pid int) (*Manager, error) {
	var path, usec, watched string
	for _, entry := range environ { // as everywhere, the last of several counts
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "NOTIFY_SOCKET":
			path = value
		case "WATCHDOG_USEC":
			usec = value
		case "WATCHDOG_PID":
			watched = value
		}
	}
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' || len(path) == 1 {
		return nil, fmt.Errorf("NOTIFY_SOCKET=%s: neither an absolute path nor the name of an abstract socket, such as @name", path)
	}
	m := &Manager{addr: &net.UnixAddr{Name: path, Net: "unixgram"}}
	if usec == "" || watched != "" && watched != strconv.Itoa(pid) {
		return m, nil
	}
	n, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || n <= 0 || n > int64(time.Duration(1<<63-1)/time.Microsecond) {
		return nil, fmt.Errorf("WATCHDOG_USEC=%s: not a number of microseconds", usec)
	}
	m.interval = time.Duration(n) * time.Microsecond
	return m, nil
}

// Watchdog returns the time after which the manager takes a process for dead from which Alive has
// not been called, or 0 if it never does.
func (m *Manager) Watchdog() time.Duration {
	if m == nil {
		return 0
	}
	return m.interval
}

// Ready reports that the start is complete. After Stopping it does nothing.
func (m *Manager) Ready(status string) error {
	return m.tell(starting, ready, "READY=1", statusLine(status))
}

// Reloaded reports that a reload is complete. Before Ready and after Stopping it does nothing.
func (m *Manager) Reloaded(status string) error {
	return m.tell(ready, ready, "READY=1", statusLine(status))
}

// Reloading reports that the process reads its configuration again. Reloaded ends it. Before Ready
// and after Stopping it does nothing.
func (m *Manager) Reloading(status string) error {
	lines := []string{"RELOADING=1", statusLine(status)}
	if at := monotonic(); at > 0 {
		lines = append(lines, "MONOTONIC_USEC="+strconv.FormatInt(at.Microseconds(), 10))
	}
	return m.tell(ready, ready, lines...)
}

// Stopping reports that the process ends.
func (m *Manager) Stopping(status string) error {
	return m.tell(starting, stopping, "STOPPING=1", statusLine(status))
}

// Status shows a sentence to the operator.
func (m *Manager) Status(status string) error {
	return m.tell(starting, starting, statusLine(status))
}

// Alive restarts the manager's watchdog, and shows a sentence to the operator; "": the one that is
// shown stays. Before Ready and after Stopping it does nothing.
func (m *Manager) Alive(status string) error {
	lines := []string{"WATCHDOG=1"}
	if status != "" {
		lines = append(lines, statusLine(status))
	}
	return m.tell(ready, ready, lines...)
}

// statusLine returns the line of a status, on one line and of at most maxStatus bytes.
func statusLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > maxStatus {
		cut := maxStatus
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	return "STATUS=" + text
}

// tell sends a message of a process whose state is at least from, and which makes it at least to.
// All but a status alone is left out once the process stops.
func (m *Manager) tell(from, to state, lines ...string) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state < from || m.state == stopping && to != starting {
		return nil
	}
	m.state = max(m.state, to)
	conn, err := net.DialUnix("unixgram", nil, m.addr)
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer conn.Close()
	limit := sendTime
	if to == starting {
		limit = statusTime
	}
	if err := conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}
