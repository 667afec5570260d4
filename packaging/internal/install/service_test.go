package install

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// user is within the range of DynamicUser.
	user = 61999
	// limit bounds each wait of a test.
	limit = 2 * time.Minute
)

// service is the running program of a unit, as systemd would start it.
type service struct {
	*exec.Cmd
	t      *testing.T
	log    bytes.Buffer // complete once the process has ended
	notify *net.UnixConn
}

// unit returns the values of a unit's settings, in their order.
func (s *system) unit(name string) map[string][]string {
	s.t.Helper()
	settings := map[string][]string{}
	for lines := bufio.NewScanner(strings.NewReader(s.read("usr/lib/systemd/system/" + name))); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}

// directories makes the directories of a unit, as systemd does for a dynamic user.
func (s *system) directories(unit map[string][]string) (environ []string) {
	s.t.Helper()
	for _, d := range []struct{ setting, variable, at string }{
		{"StateDirectory", "STATE_DIRECTORY", "var/lib"},
		{"CacheDirectory", "CACHE_DIRECTORY", "var/cache"},
		{"RuntimeDirectory", "RUNTIME_DIRECTORY", "run"},
	} {
		for _, name := range unit[d.setting] {
			private := filepath.Join(d.at, "private")
			must(s.t, os.MkdirAll(s.path(filepath.Join(private, name)), 0o700))
			must(s.t, os.Chmod(s.path(private), 0o711)) // systemd lets the one user pass by a mount
			must(s.t, os.Chown(s.path(filepath.Join(private, name)), user, user))
			link := s.path(filepath.Join(d.at, name))
			if _, err := os.Lstat(link); err != nil {
				must(s.t, os.Symlink("private/"+name, link))
			}
			environ = append(environ, d.variable+"=/"+filepath.Join(d.at, name))
		}
	}
	for _, line := range unit["Environment"] {
		environ = append(environ, strings.Fields(line)...)
	}
	return environ
}

// command returns a command of the system as the unit's user.
func (s *system) command(environ []string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Path = args[0] // in the system
	cmd.Err = nil
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=/usr/bin"}, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts a unit, and returns when it is ready.
func (s *system) start(name string) *service {
	s.t.Helper()
	unit := s.unit(name)
	environ := s.directories(unit)
	const socket = "run/notify"
	_ = os.Remove(s.path(socket)) // of an earlier start
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.path(socket), Net: "unixgram"})
	must(s.t, err)
	must(s.t, os.Chmod(s.path(socket), 0o666))
	p := &service{t: s.t, notify: conn}
	p.Cmd = s.command(append(environ, "NOTIFY_SOCKET=/"+socket, "WATCHDOG_USEC=1000000"), strings.Fields(unit["ExecStart"][0])...)
	p.Stdout, p.Stderr = &p.log, &p.log
	must(s.t, p.Cmd.Start())
	s.t.Cleanup(func() {
		_ = p.Process.Kill() // an error if it has ended
		_ = p.Wait()         // an error if the test has waited
		_ = conn.Close()
		_ = os.Remove(s.path(socket))
		if s.t.Failed() {
			s.t.Logf("the log:\n%s", &p.log)
		}
	})
	p.await("READY=1")
	p.await("WATCHDOG=1")
	return p
}

// await waits for a message to the service manager.
func (p *service) await(line string) {
	p.t.Helper()
	b := make([]byte, 4096)
	must(p.t, p.notify.SetReadDeadline(time.Now().Add(limit)))
	for {
		n, err := p.notify.Read(b)
		if err != nil {
			p.t.Fatalf("no %s: %v", line, err)
		}
		if strings.HasPrefix(string(b[:n])+"\n", line+"\n") {
			return
		}
	}
}

// reload does what the unit's ExecReload does.
func (p *service) reload() {
	p.t.Helper()
	must(p.t, p.Process.Signal(syscall.SIGHUP))
	p.await("RELOADING=1")
	p.await("READY=1")
}

// stop ends the service as systemd does.
func (p *service) stop() {
	p.t.Helper()
	must(p.t, p.Process.Signal(syscall.SIGTERM))
	p.await("STOPPING=1")
	if err := p.Wait(); err != nil {
		p.t.Errorf("the end: %v", err)
	}
	must(p.t, p.notify.Close())
}

// ask makes a request that must succeed.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: limit}
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s: %s", method, url, res.Status, answer)
	}
	return string(answer)
}

// freePort returns a port of loopback that is free now.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
