package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/platform"
	"paddock/internal/tunneld"
)

// ports tries the addresses that up listens on.
func (e *examination) ports(ctx context.Context) {
	addresses := [][2]string{{"http.listen", e.cfg.HTTP.Listen}, {"bus.listen", e.cfg.Bus.Listen}, {"wire.listen", e.cfg.Wire.Listen}}
	if t := e.other.tunnel; t != nil {
		addresses = append(addresses, [2]string{"tunnel", t.Serve.HTTP}, [2]string{"tunnel", t.Serve.TLS})
	}
	if e.holder > 0 {
		e.found("ports", nil, "not tried: the process %d runs with the data directory", e.holder)
		return
	}
	var free []string
	for _, a := range addresses {
		key, addr := a[0], a[1]
		switch err := tryPort(ctx, addr); {
		case addr == "":
		case listen.IsUnix(addr):
			e.directoryOf(key, strings.TrimPrefix(addr, "unix:"))
		case errors.Is(err, syscall.EADDRINUSE):
			e.unavailable(key, fmt.Errorf("%w: another program listens there, or this configuration runs already without a data directory", err))
		case err != nil:
			e.unavailable(key, err)
		default:
			free = append(free, addr)
		}
	}
	e.found("ports", nil, "%s", strings.Join(free, ", "))
}

// clusterTimeout bounds the examination of a cluster's servers.
const clusterTimeout = 10 * time.Second

// cluster looks at the servers of a cluster, and at its log.
func (e *examination) cluster(ctx context.Context, monitors []string) {
	if !e.cfg.Cluster.On() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	found, err := platform.CheckCluster(ctx, &e.cfg.Cluster, slog.New(slog.DiscardHandler), monitors)
	if err == nil {
		e.found("cluster", found.Warnings, "%s", found.Text)
		err = found.Fault
	}
	if err != nil {
		e.unavailable("cluster.url", err)
	}
}

// tryPort listens for a moment.
func tryPort(ctx context.Context, addr string) error {
	if addr == "" || listen.IsUnix(addr) {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

const (
	// lookupTimeout bounds a look-up of a host.
	lookupTimeout = 3 * time.Second
	// maxHosts bounds the hosts that are looked up.
	maxHosts = 100
)

// hosts looks whether the hosts of webhooks have addresses.
func (e *examination) hosts(ctx context.Context) {
	if e.other.webhooks == nil {
		return
	}
	var hosts []string
	for _, endpoint := range e.other.webhooks.Endpoints {
		u, err := url.Parse(endpoint.URL)
		if err != nil || len(hosts) == maxHosts {
			continue
		}
		if _, err := netip.ParseAddr(u.Hostname()); err != nil && !slices.Contains(hosts, u.Hostname()) {
			hosts = append(hosts, u.Hostname())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	failures := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		all.Go(func() { _, failures[i] = net.DefaultResolver.LookupNetIP(ctx, "ip", host) })
	}
	all.Wait()
	var warnings []string
	for i, err := range failures {
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("%s has no address here: %v", hosts[i], err))
		}
	}
	if len(hosts) > 0 {
		e.found("hosts of webhooks", warnings, "%d of %d have an address", len(hosts)-len(warnings), len(hosts))
	}
}

// files compares the limit of open files with what the interfaces may open.
func (e *examination) files() {
	open := tunneld.OpenFiles()
	if open == 0 {
		return
	}
	var warnings []string
	if open < platform.FewFiles {
		warnings = append(warnings, "the interfaces share few connections: raise it to 65536 or more (ulimit -n, LimitNOFILE of systemd)")
	}
	if t := e.other.tunnel; t != nil {
		_, more := t.Needs(open / 2)
		warnings = append(warnings, more...)
	}
	e.found("open files", warnings, "at most %d", open)
}
