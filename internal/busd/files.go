package busd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// writePid and writePorts rename their files into place once the listeners are open: a process that
// sees one finds all of it, and a server that answers.
func (p *Program) writePid() error {
	if p.settings.PidFile == "" {
		return nil
	}
	return p.place(p.settings.PidFile, strconv.Itoa(os.Getpid()))
}

// ports is the ports file.
type ports struct {
	NATS       []string `json:"nats,omitempty"`
	Monitoring []string `json:"monitoring,omitempty"`
	Profile    []string `json:"profile,omitempty"`
	WebSocket  []string `json:"websocket,omitempty"`
}

func (p *Program) writePorts() error {
	if p.settings.PortsDir == "" {
		return nil
	}
	all := ports{NATS: p.urls("nats", p.server.Addr())}
	for _, door := range p.http {
		urls := p.urls(door.scheme, door.listener.Addr())
		if door.profile {
			all.Profile = append(all.Profile, urls...)
		} else {
			all.Monitoring = append(all.Monitoring, urls...)
		}
	}
	if w := p.settings.Bus.WebSocket; w != nil {
		scheme := "ws"
		if w.TLS != nil {
			scheme = "wss"
		}
		all.WebSocket = p.urls(scheme, p.server.WebSocketAddr())
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return p.place(filepath.Join(p.settings.PortsDir, fmt.Sprintf("%s_%d.ports", p.Name, os.Getpid())), string(text))
}

// urls are under which a listener is reached: one for each interface if it listens
// on all.
func (p *Program) urls(scheme string, addr net.Addr) []string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil
	}
	var urls []string
	for _, ip := range reachable(tcp) {
		urls = append(urls, scheme+"://"+net.JoinHostPort(ip, strconv.Itoa(tcp.Port)))
	}
	return urls
}

func reachable(tcp *net.TCPAddr) []string {
	if !tcp.IP.IsUnspecified() {
		return []string{tcp.IP.String()}
	}
	var ips []string
	addrs, _ := net.InterfaceAddrs() // none on an error: loopback is always there
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if ok && (tcp.IP.To4() == nil || n.IP.To4() != nil) {
			ips = append(ips, n.IP.String())
		}
	}
	if len(ips) == 0 {
		return []string{"127.0.0.1"}
	}
	return ips
}

// place writes a file by another name and renames it. removeFiles removes it.
func (p *Program) place(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".paddock-*")
	if wrong, ok := errors.AsType[*os.PathError](err); ok {
		wrong.Path = path // which the caller knows
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	p.files = append(p.files, placed{path, text})
	return nil
}

// placed is a file with what this process has written.
type placed struct{ path, text string }

// removeFiles leaves files that another process has written since.
func (p *Program) removeFiles() error {
	var errs []error
	for _, f := range slices.Backward(p.files) {
		if text, err := os.ReadFile(f.path); err == nil && string(text) != f.text {
			continue
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
