package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"
	"strings"

	"paddock/internal/netio/hostname"
	"paddock/internal/process/keyid"
	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld"
)

// tunnelServeCmd runs the server of the tunnel.
type tunnelServeCmd struct {
	Config     string   `short:"c" type:"path" placeholder:"FILE" help:"Configuration file; its section tunnel counts. Flags go over it."`
	Listen     string   `placeholder:"ADDR" help:"Address for clients (default 127.0.0.1:7400); port 0 takes a free one. Any but loopback needs clients."`
	HTTP       string   `name:"http" placeholder:"ADDR" help:"Address for visitors (default 127.0.0.1:8000)."`
	TLS        string   `name:"tls" placeholder:"ADDR" help:"Address for visitors by TLS: of sni tunnels, and with tls_crt and tls_key of the file of http tunnels too."`
	Key        string   `type:"path" placeholder:"FILE" help:"File of the key by which clients know the server; made if it does not exist (default paddock/tunnel-server.key in the user's configuration directory)."`
	Control    string   `placeholder:"FILE" help:"Unix socket for \"paddock tunnel list\" and \"kick\" on this machine, open to this user alone (default paddock-tunnel.sock in XDG_RUNTIME_DIR, or paddock/tunnel.sock in the user's configuration directory); off for none."`
	Plaintext  bool     `help:"Take clients without TLS, which come with tokens; on loopback only."`
	NoHTTP2    bool     `name:"no-http2" help:"Speak HTTP/1.1 alone with visitors, by TLS or without."`
	Admin      string   `placeholder:"ADDR" help:"Address for /metrics, /status and the page that shows what goes on; beyond loopback only with --admin-token."`
	AdminToken string   `placeholder:"TOKEN" help:"Token that these ask for; better given in the environment."`
	Allow      []string `sep:"none" placeholder:"ID=HOST" help:"Let this client in, and have this host, or addresses to listen on (127.0.0.1:9000-9009), or be of a group (group:NAME), whose members share its names; several by commas. May be given again."`
}

// Help describes the output.
func (*tunnelServeCmd) Help() string {
	return `The standard output tells the server's id, its addresses, and what a client says to connect. SIGHUP and a change of the file have its clients read again; SIGTERM finishes visitors and tells clients to come back.`
}

// Run serves until a signal has drained everything.
func (t *tunnelServeCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	settings, err := t.settings()
	if err != nil {
		return usageError{err}
	}
	key, err := tunnelKey(t.Key, serverKeyName)
	if err != nil {
		return err
	}
	reloads, err := c.reloads()
	if err != nil {
		return err
	}
	defer reloads.Stop()
	server, err := tunneld.OpenServer(ctx, tunneld.ServerOptions{
		Settings: settings, Key: key, File: t.Config, Reload: t.settings, Hangups: reloads.Part(), Reloaded: reloads.Done, Control: tunnelControl(), Agent: tunnelAgent(), Logger: log,
	})
	if err != nil {
		return startError(err)
	}
	budget := cmp.Or(settings.Serve.Budget, tunneld.DefaultBudget)
	debug.SetMemoryLimit(budget)
	if wanted := tunneld.BudgetFor(len(settings.Clients)); wanted > budget {
		log.Warn("the budget is small for so many clients: once all are there, memory is collected all the time",
			"clients", len(settings.Clients), "budget", budget, "wanted", wanted)
	}
	group := &lifecycle.Group{Logger: log, Managed: lifecycle.Managed{Manager: reloads.Manager(), Alive: lifecycle.Answers(func() { server.Summary() }), Status: server.Summary}}
	server.AddTo(group)
	group.Add(lifecycle.Service{Name: "reloads", Run: reloads.Run})
	group.Add(lifecycle.Service{Name: "greeting", Start: func(context.Context) error { return t.greet(c, server) }})
	return group.Run(ctx)
}

// startError distinguishes a failed network operation from a mistake in the configuration.
func startError(err error) error {
	if network := new(net.OpError); errors.As(err, &network) {
		return err
	}
	return usageError{err}
}

// settings returns the settings of the file, overridden by the flags.
func (t *tunnelServeCmd) settings() (s *tunneld.Settings, err error) {
	s = &tunneld.Settings{}
	if t.Config != "" {
		if s, err = tunneld.Load(t.Config, otherSections); err != nil {
			return nil, err
		}
	}
	if s.Original {
		return nil, fmt.Errorf("%s is the file of a client: \"paddock tunnel start -c\" takes it", t.Config)
	}
	s.Serve.Listen = cmp.Or(t.Listen, s.Serve.Listen, "127.0.0.1:7400")
	s.Serve.HTTP = cmp.Or(t.HTTP, s.Serve.HTTP, "127.0.0.1:8000")
	s.Serve.TLS = cmp.Or(t.TLS, s.Serve.TLS)
	s.Serve.Control = cmp.Or(t.Control, s.Serve.Control)
	s.Serve.Plaintext = t.Plaintext || s.Serve.Plaintext
	s.Serve.NoHTTP2 = t.NoHTTP2 || s.Serve.NoHTTP2
	s.Serve.Admin, s.Serve.Token = cmp.Or(t.Admin, s.Serve.Admin), cmp.Or(t.AdminToken, s.Serve.Token)
	s.Serve.Identity = cmp.Or(t.Key, s.Serve.Identity)
	for _, text := range t.Allow {
		p, err := allowed(text)
		if err != nil {
			return nil, err
		}
		s.Clients = append(s.Clients, p)
	}
	return s, nil
}

// allowed parses ID=NAME,NAME: a client and its permissions. Its name is the beginning of its id.
func allowed(text string) (p tunneld.Peer, err error) {
	id, what, ok := strings.Cut(text, "=")
	if !ok || what == "" {
		return p, fmt.Errorf("--allow %s: want ID=HOST or ID=ADDRESS:PORT", text)
	}
	if p.ID, err = keyid.Parse(id); err != nil {
		return p, fmt.Errorf("--allow: %w", err)
	}
	p.Name = p.ID.String()[:12]
	for one := range strings.SplitSeq(what, ",") {
		if group, ok := strings.CutPrefix(one, "group:"); ok {
			if group, err = tunneld.ParseLabel(group); err != nil {
				return p, fmt.Errorf("--allow: group %w", err)
			}
			p.Groups = append(p.Groups, group)
			continue
		}
		if _, _, err := net.SplitHostPort(one); err == nil {
			ports, err := tunneld.ParsePortRange(one)
			if err != nil {
				return p, fmt.Errorf("--allow: %w", err)
			}
			p.Ports = append(p.Ports, ports)
			continue
		}
		host, err := hostname.Pattern(one)
		if err != nil {
			return p, fmt.Errorf("--allow: %w", err)
		}
		p.Hosts = append(p.Hosts, host)
	}
	return p, nil
}

// greet prints the server's id, its addresses, and the command line of a client.
func (t *tunnelServeCmd) greet(c *console, s *tunneld.Server) error {
	_, err := fmt.Fprintf(c.Stdout, "id:       %s\nclients:  %s\nvisitors: http://%s\n", s.ID(), s.Link(), s.HTTP())
	if err == nil && s.TLS() != nil {
		at := "https://" + s.TLS().String()
		if !s.HTTPS() {
			at = s.TLS().String() + " (sni tunnels alone: https:// takes tls_crt and tls_key)"
		}
		_, err = fmt.Fprintf(c.Stdout, "visitors: %s\n", at)
	}
	if err == nil && s.Admin() != nil {
		_, err = fmt.Fprintf(c.Stdout, "admin:    http://%s\n", s.Admin())
	}
	if err == nil {
		_, err = fmt.Fprintf(c.Stdout, "connect:  paddock tunnel http PORT --host HOST --server %s --server-id %s\n", reachable(s.Link()), s.ID())
	}
	return err
}

// reachable returns an address as clients on other machines write it.
func reachable(at net.Addr) string {
	if t, ok := at.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return net.JoinHostPort("THIS-MACHINE", strconv.Itoa(t.Port))
	}
	return at.String()
}
