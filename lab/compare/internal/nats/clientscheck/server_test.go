package clientscheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"paddock/lab/compare/internal/harness/programs"
)

const (
	readyWithin = 15 * time.Second
	stopWithin  = 15 * time.Second
)

// server is one of the two programs under its configuration. It keeps its ports
// when it is started again.
type server struct {
	program string // path, named nats-server
	dir     string // working directory, with the material
	config  string // file; "" = none
	port    string
	webPort string
	env     []string

	command *exec.Cmd
	ended   chan struct{}
	log     *log
}

// newServer prepares a server for a scenario. The configuration is copied into
// the directory, where a reload may replace it.
func newServer(program string, m *material, configs string, s Scenario) (*server, error) {
	port, err := programs.FreePort()
	if err != nil {
		return nil, err
	}
	webPort, err := programs.FreePort()
	if err != nil {
		return nil, err
	}
	v := &server{
		program: program, dir: m.dir, port: port, webPort: webPort,
		env: append(os.Environ(), "ALICE="+m.alice, "WEBSOCKET_PORT="+webPort),
	}
	source := filepath.Join(configs, s.config())
	text, err := os.ReadFile(source)
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	v.config = "server.conf"
	return v, errors.Join(err, m.file(v.config, text))
}

// start returns when the server has said that it is ready.
func (v *server) start(ctx context.Context) error {
	args := []string{"-a", "127.0.0.1", "-p", v.port}
	if v.config != "" {
		args = append(args, "-c", v.config)
	}
	v.command = exec.Command(v.program, args...)
	v.command.Dir, v.command.Env = v.dir, v.env
	v.log = newLog("Server is ready")
	v.command.Stdout, v.command.Stderr = v.log, v.log
	if err := v.command.Start(); err != nil {
		return err
	}
	v.ended = make(chan struct{})
	go func(c *exec.Cmd, ended chan struct{}) {
		_ = c.Wait() // its output is in the log
		close(ended)
	}(v.command, v.ended)
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	select {
	case <-v.log.seen:
		return nil
	case <-v.ended:
		return fmt.Errorf("the server has ended:\n%s", v.log)
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the server is not ready: %w\n%s", ctx.Err(), v.log), v.stop())
	}
}

func (v *server) signal(s syscall.Signal) error { return v.command.Process.Signal(s) }

// stop ends the process, if it has not ended by itself, and waits for it.
func (v *server) stop() error {
	if v.command == nil {
		return nil
	}
	select {
	case <-v.ended:
		return nil
	default:
	}
	err := v.signal(syscall.SIGINT)
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-v.ended:
		return err
	case <-timer.C:
		err = errors.Join(err, v.command.Process.Kill(), fmt.Errorf("the server is still there %v after SIGINT", stopWithin))
		<-v.ended
		return err
	}
}

// reload puts NAME.next.conf in place and returns when the server has read it.
func (v *server) reload(ctx context.Context, next string) error {
	text, err := os.ReadFile(next)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(v.dir, v.config), text, 0o600); err != nil {
		return err
	}
	reloaded := v.log.wait("Reloaded server configuration")
	if err := v.signal(syscall.SIGHUP); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	select {
	case <-reloaded:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the server does not say that it has reloaded: %w\n%s", ctx.Err(), v.log)
	}
}

// url is where the program connects.
func (v *server) url(door string) string {
	switch door {
	case "":
		return "nats://127.0.0.1:" + v.port
	default:
		return door + "://127.0.0.1:" + v.webPort
	}
}

// pid as the flag --signal has it.
func (v *server) pid() string { return strconv.Itoa(v.command.Process.Pid) }

// log keeps the output of a server, and waits for words in it.
type log struct {
	seen <-chan struct{}

	mu    sync.Mutex
	text  strings.Builder
	words string
	found chan struct{} // closed when the words come; nil = no goroutine waits
}

func newLog(words string) *log {
	l := &log{}
	l.seen = l.wait(words)
	return l
}

// wait returns a channel that is closed when the words are written from now on.
func (l *log) wait(words string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words, l.found = words, make(chan struct{})
	return l.found
}

// logText bounds the kept part of a log.
const logText = 64 << 10

// Write implements io.Writer. Servers write whole lines.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() < logText {
		l.text.Write(p)
	}
	if l.found != nil && strings.Contains(string(p), l.words) {
		close(l.found)
		l.found = nil
	}
	return len(p), nil
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
