// Package growcheck holds a test that walks the way of docs/guides/growing.md: it runs the commands
// of the composition of a cluster as processes of this machine.
package growcheck

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"paddock/lab/compare/internal/harness/programs"
)

const dockerDir = "../../../../../packaging/docker"

// service is one of a composition, as far as a process needs it.
type service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
}

// composition is packaging/docker/cluster.yaml on loopback: each address of a service is one of a
// free port.
type composition struct {
	t        *testing.T
	dir      string
	programs map[string]string // by image, without its version
	services map[string]*service
	at       map[string]string // loopback address by host:port of the composition
	running  map[string]*process
}

// variable is ${NAME:-value} or ${NAME:?reason}.
var variable = regexp.MustCompile(`\$\{(\w+):[-?]([^}]*)\}`)

// composed reads the composition. further are nodes beside those of the file: a copy of the first
// one with another name.
func composed(t *testing.T, programs map[string]string, values map[string]string, further ...string) *composition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dockerDir, "cluster.yaml"))
	ok(t, err)
	filled := variable.ReplaceAllStringFunc(string(text), func(s string) string {
		m := variable.FindStringSubmatch(s)
		if v, given := values[m[1]]; given {
			return v
		}
		return m[2]
	})
	var file struct{ Services map[string]*service }
	ok(t, yaml.Unmarshal([]byte(filled), &file))
	c := &composition{t: t, dir: t.TempDir(), programs: programs, services: file.Services, at: map[string]string{}, running: map[string]*process{}}
	for _, name := range further {
		first := c.services["paddock-1"]
		added := &service{Image: first.Image, Environment: first.Environment}
		for _, word := range first.Command {
			added.Command = append(added.Command, strings.ReplaceAll(word, "paddock-1", name))
		}
		c.services[name] = added
	}
	for name, s := range c.services {
		ports := []string{"4222", "6222", "8222"}
		if strings.HasPrefix(s.Image, "paddock") {
			ports = []string{"8080", "4222"}
		}
		for _, port := range ports {
			c.at[name+":"+port] = ""
		}
	}
	free, err := freePorts(len(c.at))
	ok(t, err)
	i := 0
	for name := range c.at {
		c.at[name] = fmt.Sprintf("127.0.0.1:%d", free[i])
		i++
	}
	t.Cleanup(c.stopAll)
	return c
}

func freePorts(n int) ([]int, error) { return programs.FreePorts(n) }

// local replaces the addresses of services.
func (c *composition) local(text string) string {
	for name, at := range c.at {
		text = strings.ReplaceAll(text, name, at)
	}
	return text
}

// process is a service that runs.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed once Err is set
	err   error

	mu    sync.Mutex
	lines []string // that it has written
}

// start runs a service as its container would.
func (c *composition) start(name string) *process {
	c.t.Helper()
	s := c.services[name]
	image, _, _ := strings.Cut(s.Image, ":")
	data := filepath.Join(c.dir, name)
	args := make([]string, len(s.Command))
	for i, word := range s.Command {
		args[i] = c.local(word)
	}
	env := append(os.Environ(), "STATE_DIRECTORY="+data)
	for key, value := range s.Environment {
		env = append(env, key+"="+c.local(value))
	}
	if image == "nats" {
		for i, word := range args {
			if word == "/etc/nats/nats.conf" {
				args[i] = c.conf(name, data)
			}
		}
	} else { // as the image has it, on this service's addresses
		env = append(env, "PADDOCK_SETS_SNAPSHOTS=off", "PADDOCK_HTTP_LISTEN="+c.at[name+":8080"],
			"PADDOCK_BUS_LISTEN="+c.at[name+":4222"], "PADDOCK_WIRE_LISTEN=127.0.0.1:0")
	}
	cmd := exec.Command(c.programs[image], args...)
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	ok(c.t, err)
	cmd.Stderr = cmd.Stdout
	ok(c.t, cmd.Start())
	p := &process{Cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.read(out)
		p.err = cmd.Wait()
		close(p.ended)
	}()
	c.running[name] = p
	return p
}

// conf writes the configuration of a nats-server.
func (c *composition) conf(name, data string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(dockerDir, "nats.conf"))
	ok(c.t, err)
	own := strings.NewReplacer("0.0.0.0:4222", c.at[name+":4222"], "0.0.0.0:6222", c.at[name+":6222"], "127.0.0.1:8222", c.at[name+":8222"], "/data", data)
	file := filepath.Join(c.dir, name+".conf")
	ok(c.t, os.WriteFile(file, []byte(own.Replace(c.local(string(text)))), 0o600))
	return file
}

// read keeps what a process writes.
func (p *process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.mu.Unlock()
	}
}

// text returns what a process has written.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// stop ends a service in good order, and kill as kill -9 does.
func (c *composition) stop(name string) { c.end(name, syscall.SIGTERM) }
func (c *composition) kill(name string) { c.end(name, syscall.SIGKILL) }

func (c *composition) end(name string, s os.Signal) {
	c.t.Helper()
	p := c.running[name]
	delete(c.running, name)
	ok(c.t, p.Process.Signal(s))
	<-p.ended
	if s == syscall.SIGTERM && p.err != nil && strings.HasPrefix(name, "paddock") {
		c.t.Errorf("%s did not end in good order: %v\n%s", name, p.err, p.text())
	}
}

func (c *composition) stopAll() {
	for name, p := range c.running {
		_ = p.Process.Kill()
		<-p.ended
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", name, tail(p.text(), 4000))
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
