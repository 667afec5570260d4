package main

import (
	"cmp"
	"context"
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
	"paddock/internal/process/keyring"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/terminal"
)

// phonesKey is the file in the data directory with the key for phones, and the name of the key.
const phonesKey = "phones"

// public is what --public has set up.
type public struct {
	key  string // of phones: it may only send positions, as it is seen on screens and in URLs
	file string // with it; "": it ends with the process
	host string // that phones reach

	operator string        // a key of an administrator that ends with the process; "": none was made
	keys     []keyring.Key // of both
}

// phones applies --public to the settings, and returns the service that prints how phones are set
// up, and the keys that were added to those of the file. Without --public there are none.
func (s *serving) phones(cfg *config.Config, to io.Writer) (feed func(*platform.Platform, *lifecycle.Group), own []keyring.Key, err error) {
	if !s.Public {
		return func(*platform.Platform, *lifecycle.Group) {}, nil, nil
	}
	cfg.HTTP.Listen = cmp.Or(s.Listen, cfg.HTTP.Listen)
	public, err := makePublic(cfg, cfg.Data.Dir, lanAddress)
	if err != nil {
		return nil, nil, err
	}
	return func(p *platform.Platform, g *lifecycle.Group) {
		g.Add(lifecycle.Service{Name: "phones", Start: func(context.Context) error {
			public.show(to, p.Port())
			return nil
		}})
	}, public.keys, nil
}

// makePublic makes a platform listen on this machine's address in its private network, where it
// asks for keys, and adds one for phones, which is kept in dir, or ends with this process if dir is
// "". Then it adds one of an administrator too, unless there is a token.
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
			return nil, fmt.Errorf("--public: %w: set --listen instead", err)
		}
	}
	p := &public{host: addr.String()}
	if err := p.readKey(dir); err != nil {
		return nil, err
	}
	p.add("phones", p.key, keyring.PositionsWrite)
	if dir == "" && cfg.HTTP.Token == "" {
		p.operator = keyring.NewSecret()
		p.add("operator", p.operator, keyring.Admin)
	}
	if host == "localhost" || net.ParseIP(host).IsLoopback() {
		cfg.HTTP.Listen = net.JoinHostPort(p.host, port)
	}
	cfg.Access.Keys = append(cfg.Access.Keys, p.keys...)
	return p, nil
}

func (p *public) add(name, secret string, verb keyring.Verbs) {
	p.keys = append(p.keys, keyring.Key{Name: name, SHA256: keyring.DigestOf(secret), Verbs: verb.Names()})
}

// readKey reads the key of phones in a data directory, which it makes if there is none.
func (p *public) readKey(dir string) error {
	p.key = keyring.NewSecret()
	if dir == "" {
		return nil
	}
	p.file = filepath.Join(dir, "secrets", phonesKey)
	text, err := os.ReadFile(p.file)
	if key := strings.TrimSpace(string(text)); err == nil && key != "" {
		p.key = key
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(p.file, []byte(p.key+"\n"), 0o600)
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
// The Traccar Client takes its settings from such an address. A key that is kept is printed on a
// terminal alone, because other output may be kept as a log.
func (p *public) show(to io.Writer, port string) {
	if p.operator != "" {
		fmt.Fprintf(to, "Key:       %s (an administrator's, until this process ends)\n", p.operator)
	}
	columns, key := terminal.Columns(to), p.key
	if columns == nil && p.file != "" {
		key = "KEY"
		fmt.Fprintf(to, "Phones' key: in %s\n", p.file)
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
