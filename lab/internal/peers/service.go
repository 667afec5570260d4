package peers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"paddock/lab/process"
)

// PageBytes is the size of the page of the document of ab and goab.
const PageBytes = 3516

// WriteStatic writes a file of so many bytes that any server may show.
func WriteStatic(root, name string, size int) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	path := filepath.Join(root, name)
	if err := os.WriteFile(path, bytes.Repeat([]byte("static, "), size/8+1)[:size], 0o644); err != nil {
		return err
	}
	settled := time.Now().Add(-time.Hour) // servers look at files that have just been written more often
	return os.Chtimes(path, settled, settled)
}

// page writes the page into a directory of a stand, and returns the directory.
func (s *Stand) page() (root string, err error) {
	root = filepath.Join(s.Dir, "web")
	return root, WriteStatic(root, "index.html", PageBytes)
}

// NginxSettings are what differs between the uses of nginx.
type NginxSettings struct {
	Workers string // worker_processes
	HTTP    string // directives of the block http
	Root    string // directory that is served; "" = one with the page
}

// OriginalNginx are the settings of the document of ab and goab: those of nginx's image, which logs
// each request, with one worker. The log is formatted and written to no file.
var OriginalNginx = NginxSettings{Workers: "1", HTTP: "access_log /dev/null; sendfile on; keepalive_timeout 65;"}

const nginxConf = `daemon off;
worker_processes %[2]s;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  default_type text/html;
  %[3]s
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server { listen %[4]s; root "%[5]s"; }
}
`

// StartNginx starts nginx with all of its files in a directory of its own.
func StartNginx(ctx context.Context, program string, o NginxSettings) (*Stand, error) {
	return Start(ctx, Nginx, func(s *Stand) (err error) {
		root := o.Root
		if root == "" {
			if root, err = s.page(); err != nil {
				return err
			}
		}
		if err := os.Chmod(s.Dir, 0o755); err != nil { // the workers of root's nginx are another user's
			return err
		}
		conf := filepath.Join(s.Dir, "nginx.conf")
		if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, s.Dir, o.Workers, o.HTTP, s.addr, root), 0o644); err != nil {
			return err
		}
		cmd := exec.Command(program, "-e", "stderr", "-p", s.Dir, "-c", conf)
		return s.Run(ctx, Process{Cmd: cmd, Ready: Answers(s.addr, "/", "", o.Root != "")})
	})
}

// StartGoHTTP starts GoHTTP, which serves the page and prints a line for each request. It listens
// on all addresses: it has no flag for one.
func StartGoHTTP(ctx context.Context, program string) (*Stand, error) {
	return Start(ctx, GoHTTP, func(s *Stand) error {
		if _, err := s.page(); err != nil { // it serves the directory web of its own
			return err
		}
		cmd := exec.Command(program, "-p", s.port())
		cmd.Dir = s.Dir
		return s.Run(ctx, Process{Cmd: cmd, Ready: process.Dials(s.addr)})
	})
}

// port returns the port of the address, for programs that take no host.
func (s *Stand) port() string {
	_, port, _ := net.SplitHostPort(s.addr) // it is one of FreeAddress
	return port
}

// StartNATS starts a program that has the flags and the greeting of nats-server: argv is the
// program and its first arguments, and place that of its Process.
func StartNATS(ctx context.Context, argv []string, place func(start func() error) error) (*Stand, error) {
	return Start(ctx, filepath.Base(argv[0]), func(s *Stand) error {
		args := append(argv[1:len(argv):len(argv)], "-a", "127.0.0.1", "-p", s.port())
		return s.Run(ctx, Process{Cmd: exec.Command(argv[0], args...), Place: place, Ready: s.greets})
	})
}

// greets returns nil when the server greets as nats-server does.
func (s *Stand) greets(ctx context.Context) error {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	line, err := bufio.NewReader(nc).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "INFO ") {
		err = fmt.Errorf("a greeting of %.40q", line)
	}
	return err
}

// StartGofast starts gofast's perf as a server. perf panics when a connection ends without a
// handshake, so its own line tells that it listens. It ends at the end of its standard input.
//
// It listens with figures of its own on localhost:6062 and on port 8080, too, or goes on without.
func StartGofast(ctx context.Context, program string) (*Stand, error) {
	return Start(ctx, Gofast, func(s *Stand) error {
		cmd := exec.Command(program, "-s", "-addr", s.addr)
		if _, err := cmd.StdinPipe(); err != nil { // open until the process has ended
			return err
		}
		var listens atomic.Bool
		printed := func(line []byte) {
			if bytes.HasPrefix(line, []byte("listening on ")) {
				listens.Store(true)
			}
		}
		return s.Run(ctx, Process{Cmd: cmd, Stdout: printed, Ready: func(context.Context) error {
			if !listens.Load() {
				return errors.New(`it does not print "listening on"`)
			}
			return nil
		}})
	})
}

// buildWithin is how long gofence may take for its index: a minute for cells, in the document.
const buildWithin = 5 * time.Minute

// GofenceSettings are the arguments of gofence.
type GofenceSettings struct {
	Kind    string // of index, as the document calls it: brute, city, city_bbox, qtree_z14, s2_z16
	Dir     string // with a GeoJSON file for each set
	Parents string // file of the boroughs, which the kinds of city need; "" = none
	Profile bool   // serve profiles below /debug/pprof/
}

// StartGofence starts gofence, and returns when it answers. It listens on all addresses.
func StartGofence(ctx context.Context, program string, o GofenceSettings) (*Stand, error) {
	return Start(ctx, Gofence, func(s *Stand) error {
		kind, zoom, zooms := strings.Cut(o.Kind, "_z")
		args := []string{"--fence", strings.ReplaceAll(kind, "_", "-"), "--port", s.port()}
		if zooms {
			args = append(args, "--zoom", zoom)
		}
		if o.Profile {
			args = append(args, "--profile")
		}
		cmd := exec.Command(program, append(args, o.Dir)...)
		cmd.Env = process.Environment()
		if o.Parents != "" {
			cmd.Env = append(cmd.Env, "NYC_BOROS_PATH="+o.Parents)
		}
		return s.Run(ctx, Process{Cmd: cmd, Ready: Answers(s.addr, "/fence", "", false), Within: buildWithin})
	})
}
