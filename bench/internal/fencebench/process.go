package fencebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"paddock/bench/internal/freeport"
	"paddock/bench/internal/measure"
	"paddock/internal/lab"
)

const (
	// staticBytes is the size of the file that nginx serves.
	staticBytes = 3_500
	staticName  = "static"
	readyWithin = 10 * time.Second
	stopWithin  = 10 * time.Second
)

// service is a server's process.
type service interface {
	Addr() string
	Pid() int
	Stop() error
}

var (
	_ service = (*lab.FenceServer)(nil)
	_ service = (*nginx)(nil)
)

// used is what a service's process and its children have used: nginx answers in
// workers.
type used struct{ service }

// Usage implements measure.User.
func (u used) Usage() (sum measure.Usage, err error) {
	for _, pid := range append(children(u.Pid()), u.Pid()) {
		one, err := measure.ProcessUsage(pid)
		if err != nil {
			return sum, err
		}
		sum.User += one.User
		sum.System += one.System
	}
	return sum, nil
}

// window reads the processor times of a service, of this process and of the machine at
// its borders.
type window struct {
	meter   *measure.Meter
	machine measure.Usage
}

func openWindow(s service) (*window, error) {
	machine, err := measure.MachineUsage()
	if err != nil {
		return nil, err
	}
	meter, err := measure.StartMeter(used{s})
	return &window{meter, machine}, err
}

// close returns what the window measured.
func (w *window) close() (*measure.Measurement, error) {
	m := &measure.Measurement{}
	if err := w.meter.Stop(m); err != nil {
		return nil, err
	}
	machine, err := measure.MachineUsage()
	m.Machine = machine.Sub(w.machine).Total()
	return m, err
}

// children are the processes that a process has started; none where /proc does not
// say.
func children(pid int) (pids []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// nginx serves one static file, with a worker for each processor.
type nginx struct {
	addr    string
	command *exec.Cmd
	said    bytes.Buffer  // read once ended is closed
	ended   chan struct{} // closed when the process has ended
}

const nginxConf = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=16;
  keepalive_requests 1000000000;
  keepalive_timeout 75s;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server { listen 127.0.0.1:%[2]s; root %[1]s/www; }
}
`

// startNginx starts program in dir. Where it is not installed, the error wraps
// [errors.ErrUnsupported].
func startNginx(ctx context.Context, program, dir string) (*nginx, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("no %s here: %w", program, errors.ErrUnsupported)
	}
	port, err := freeport.Find()
	if err != nil {
		return nil, err
	}
	www := filepath.Join(dir, "www")
	conf := filepath.Join(dir, "nginx.conf")
	err = errors.Join(
		os.MkdirAll(www, 0o755),
		os.WriteFile(filepath.Join(www, staticName), bytes.Repeat([]byte("nginx, "), staticBytes/7), 0o644),
		os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, port), 0o644),
	)
	if err != nil {
		return nil, err
	}
	n := &nginx{addr: net.JoinHostPort("127.0.0.1", port), ended: make(chan struct{})}
	n.command = exec.Command(path, "-e", "stderr", "-p", dir, "-c", conf)
	n.command.Stderr = &n.said
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = n.command.Wait() // killed, as a rule
		close(n.ended)
	}()
	if err := n.ready(ctx); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

// ready returns when it accepts.
func (n *nginx) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for {
		if c, err := lab.Dial(ctx, n.addr); err == nil {
			return c.Close()
		}
		select {
		case <-n.ended:
			return fmt.Errorf("nginx has ended: %s", n.said.String())
		case <-ctx.Done():
			return fmt.Errorf("nginx does not listen: %w", ctx.Err())
		case <-ticks.C:
		}
	}
}

// Addr implements service.
func (n *nginx) Addr() string { return n.addr }

// Pid implements service.
func (n *nginx) Pid() int { return n.command.Process.Pid }

// Stop implements service.
func (n *nginx) Stop() error {
	select {
	case <-n.ended:
		return fmt.Errorf("nginx has ended by itself: %s", n.said.String())
	default:
	}
	err := n.command.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(stopWithin, func() { _ = n.command.Process.Kill() })
	defer timer.Stop()
	<-n.ended
	return err
}
