package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/netio/listen"
	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/terminal"
)

// publicKey is the file in the data directory with the key that --public has made.
const publicKey = "public.key"

// public is what --public has set up.
type public struct {
	made string // the key, if this process has made it and there is no file; "": do not print it
	file string // with the key; "": none
	host string // that phones reach
}

// phones applies --public to the settings, and returns the service that prints how phones are set
// up. Without --public there is none.
func (s *serving) phones(cfg *config.Config, to io.Writer) (func(*platform.Platform, *lifecycle.Group), error) {
	if !s.Public {
		return func(*platform.Platform, *lifecycle.Group) {}, nil
	}
	public, err := makePublic(cfg, cfg.Data.Dir, lanAddress)
	return func(p *platform.Platform, g *lifecycle.Group) {
		g.Add(lifecycle.Service{Name: "phones", Start: func(context.Context) error {
			public.show(to, p.Port(), string(cfg.HTTP.Token))
			return nil
		}})
	}, err
}

// makePublic makes a platform listen on this machine's address in its private network, and ask for
// a key: that of http.token, or one that is kept in dir, or with this process alone if dir is "".
func makePublic(cfg *config.Config, dir string, lan func() (netip.Addr, error)) (*public, error) {
	if listen.IsUnix(cfg.HTTP.Listen) {
		return nil, usagef("--public: http.listen is a unix socket, which phones do not reach")
	}
	host, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	if err != nil {
		return nil, usagef("--public: http.listen: %v", err)
	}
	addr, err := netip.ParseAddr(host)
	own := err == nil && !addr.IsLoopback() && !addr.IsUnspecified()
	if !own {
		if addr, err = lan(); err != nil {
			return nil, fmt.Errorf("--public: %w: set --listen and --token instead", err)
		}
	}
	p := &public{host: addr.String()}
	if host == "localhost" || net.ParseIP(host).IsLoopback() {
		cfg.HTTP.Listen = net.JoinHostPort(p.host, port)
	}
	if cfg.HTTP.Token != "" {
		return p, nil
	}
	key, err := p.key(dir)
	cfg.HTTP.Token = config.Secret(key)
	return p, err
}

// key returns the key of a data directory, which it makes if there is none.
func (p *public) key(dir string) (string, error) {
	if dir == "" {
		p.made = rand.Text()
		return p.made, nil
	}
	p.file = filepath.Join(dir, publicKey)
	text, err := os.ReadFile(p.file)
	if key := strings.TrimSpace(string(text)); err == nil && key != "" {
		return key, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	key := rand.Text()
	return key, os.WriteFile(p.file, []byte(key+"\n"), 0o600)
}

// lanAddress returns the address by which this machine reaches others, if it is one of a private
// network. No packet is sent.
func lanAddress() (netip.Addr, error) {
	conn, err := net.Dial("udp4", "192.0.2.1:9") // an address for documents, by way of the default route
	if err != nil {
		return netip.Addr{}, errors.New("this machine has no network")
	}
	defer conn.Close()
	return private(conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr())
}

func private(addr netip.Addr) (netip.Addr, error) {
	if addr = addr.Unmap(); !addr.IsPrivate() {
		return addr, fmt.Errorf("%v is no address of a private network", addr)
	}
	return addr, nil
}

// show prints how a phone is set up: the address for the apps, and on a terminal a QR code of it.
// The Traccar Client takes its settings from such an address. A key that is not new is printed on a
// terminal alone, because other output may be kept as a log.
func (p *public) show(to io.Writer, port, key string) {
	columns := terminal.Columns(to)
	if columns == nil && p.made == "" {
		where := "http.token"
		if p.file != "" {
			where = p.file
		}
		key = "KEY"
		fmt.Fprintf(to, "Key:       in %s\n", where)
	} else {
		fmt.Fprintf(to, "Key:       %s, for the dashboard as the password of any user\n", key)
	}
	door := url.URL{Scheme: "http", Host: net.JoinHostPort(p.host, port), Path: "/in/osmand/" + key}
	fmt.Fprintf(to, "Phones:    %s, as the server of the Traccar Client or with the parameters of OsmAnd\n", door.String())
	if columns == nil {
		return
	}
	door.RawQuery = "accuracy=high&distance=0&interval=10&buffer=true"
	if code := terminal.QR(door.String(), columns()); code != "" {
		fmt.Fprintf(to, "Scan this in the settings of the Traccar Client:\n%s", code)
	}
}
