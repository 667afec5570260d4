package webload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/process"
)

const (
	readyWithin = 10 * time.Second
	stopWithin  = 10 * time.Second
)

// Nginx serves files, with a worker for each processor.
type Nginx struct {
	addr  string
	child *process.Child
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
  server { listen 127.0.0.1:%[2]s; root %[3]s; }
}
`

// StartNginx starts program in dir, to serve the files in root. Where it is not
// installed, the error wraps [errors.ErrUnsupported].
func StartNginx(ctx context.Context, program, dir, root string) (*Nginx, error) {
	path, err := programs.Find(program)
	if err != nil {
		return nil, err
	}
	port, err := programs.FreePort()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, port, root), 0o644)); err != nil {
		return nil, err
	}
	n := &Nginx{addr: net.JoinHostPort("127.0.0.1", port)}
	if n.child, err = process.Spawn("nginx", exec.Command(path, "-e", "stderr", "-p", dir, "-c", conf), process.Options{}, nil, nil); err != nil {
		return nil, err
	}
	if err := n.child.Await(ctx, readyWithin, process.Dials(n.addr)); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

// Addr implements Service.
func (n *Nginx) Addr() string { return n.addr }

// Pid implements Service.
func (n *Nginx) Pid() int { return n.child.Pid() }

// Stop implements Service.
func (n *Nginx) Stop() error { return n.child.Stop(stopWithin) }
