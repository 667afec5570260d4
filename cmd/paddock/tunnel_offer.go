package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"paddock/internal/netio/hostname"
	"paddock/internal/netio/listen"
	"paddock/tunnel/client"
)

// tunnelHTTPCmd offers one HTTP service.
type tunnelHTTPCmd struct {
	Target string `arg:"" help:"The local service: a port, host:port, or a URL whose path goes before that of each request."`

	Host       string `placeholder:"HOST" help:"Host name under which visitors find it (default one that the server chooses, if it may)."`
	Path       string `placeholder:"/PATH" help:"Only what lies under this path."`
	Auth       string `placeholder:"USER:PASSWORD" help:"Ask visitors for these; better given in the environment, where others cannot see it."`
	Group      string `placeholder:"NAME" help:"Share the name with the other clients of this group, if the server lets it: visitors come to the one with the least to do."`
	HostHeader string `placeholder:"HOST" help:"What the service sees as Host (default what the visitor has sent); localhost for one that takes names of its own machine alone and answers others 421."`
	Inspect    string `placeholder:"ADDR" help:"Keep the last 100 requests with their answers, 16 MiB at most, and show them at this address of this machine, secrets in heads masked; requests can be sent again there."`
	tunnelServer
}

// Run prints the URL when there is one.
func (t *tunnelHTTPCmd) Run(ctx context.Context, c *console) error {
	host, err := t.Host, error(nil)
	if host != "" {
		host, err = hostname.Pattern(host)
	}
	switch {
	case err != nil:
		return usagef("--host: %w", err)
	case t.Auth != "" && !strings.Contains(t.Auth, ":"):
		return usageError{errors.New("--auth: want user:password")}
	case t.Group != "" && host == "":
		return usageError{errors.New("--group needs --host, a name that its members know")}
	case t.Path != "" && t.Path[0] != '/':
		return usagef("--path: %q does not begin with /", t.Path)
	}
	if slices.ContainsFunc(c.args, func(a string) bool { return a == "--auth" || strings.HasPrefix(a, "--auth=") }) {
		fmt.Fprintln(c.Stderr, "paddock: warning: users who can list processes see the password; set PADDOCK_TUNNEL_HTTP_AUTH")
	}
	s, err := t.settings(client.Tunnel{
		Name: "http", Protocol: "http", Target: t.Target, Host: host, Path: t.Path, Auth: t.Auth, HostHeader: t.HostHeader, Group: t.Group,
	})
	if err != nil {
		return usageError{err}
	}
	if s.Connect.Inspect = t.Inspect; t.Inspect != "" {
		if err := listen.CheckOr(t.Inspect, false, ""); err != nil {
			return usagef("--inspect: %w", err)
		}
	}
	return connect(ctx, c, s, nil, "", false)
}

// tunnelVisitors are the flags about the visitors of a TLS or TCP service.
type tunnelVisitors struct {
	ProxyProtocol bool   `name:"proxy-protocol" help:"Tell the service the address of the visitor, by the PROXY protocol, version 2."`
	Mode          string `enum:"mux,direct" default:"mux" placeholder:"HOW" complete:"mux,direct" help:"How visitors travel: mux, by the connection to the server, or direct, each by a connection of its own, which is for bulk (default ${default})."`
}

// tunnelSNICmd offers one TLS service.
type tunnelSNICmd struct {
	Target string `arg:"" help:"The local service, which speaks TLS: a port, or host:port."`

	Host  string `required:"" placeholder:"HOST" help:"Host name that visitors ask for in TLS."`
	Group string `placeholder:"NAME" help:"Share the name with the other clients of this group, if the server lets it: visitors come to the one with the fewest."`
	tunnelVisitors
	tunnelServer
}

// Run prints the name when it is bound.
func (t *tunnelSNICmd) Run(ctx context.Context, c *console) error {
	host, err := hostname.Pattern(t.Host)
	if err != nil {
		return usagef("--host: %w", err)
	}
	s, err := t.settings(client.Tunnel{Name: "sni", Protocol: "sni", Target: t.Target, Host: host, Group: t.Group, ProxyProtocol: t.ProxyProtocol, Direct: t.Mode == "direct"})
	if err != nil {
		return usageError{err}
	}
	return connect(ctx, c, s, nil, "", false)
}

// tunnelTCPCmd offers one TCP service.
type tunnelTCPCmd struct {
	Target string `arg:"" help:"The local service: a port, or host:port."`

	Remote string `placeholder:"ADDR" help:"Address of the server at which visitors find it, host:port (default 127.0.0.1 and the port of the target)."`
	Group  string `placeholder:"NAME" help:"Share the address with the other clients of this group, if the server lets it: visitors come to the one with the fewest."`
	tunnelVisitors
	tunnelServer
}

// Run prints the address when there is one.
func (t *tunnelTCPCmd) Run(ctx context.Context, c *console) error {
	port := t.Target[strings.LastIndexByte(t.Target, ':')+1:]
	s, err := t.settings(client.Tunnel{
		Name: "tcp", Protocol: "tcp", Target: t.Target, Remote: cmp.Or(t.Remote, "127.0.0.1:"+port), ProxyProtocol: t.ProxyProtocol,
		Group: t.Group, Direct: t.Mode == "direct",
	})
	if err != nil {
		return usageError{err}
	}
	return connect(ctx, c, s, nil, "", false)
}
