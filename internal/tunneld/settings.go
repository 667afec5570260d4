// Package tunneld is the tunnel as a program: its configuration in its own form and in that of
// go-http-tunnel, the list of clients with the names that each may bind, and the running server and
// client.
package tunneld

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"paddock/internal/process/keyid"
	"paddock/internal/process/strictyaml"
	"paddock/tunnel"
	"paddock/tunnel/client"
)

// Settings holds the contents of a configuration file. docs/guides/tunnel.md shows one.
type Settings struct {
	// Original reports that the file is one of go-http-tunnel, which has some defaults of its own.
	Original bool

	Serve   Serve
	Clients []Peer
	Connect Connect
	Tunnels []client.Tunnel
	Backoff Backoff

	listed map[string]bool // names of Clients
}

// Serve is the side that visitors reach. Empty addresses are not listened on.
type Serve struct {
	Listen    string // for clients, over wire
	HTTP      string // for visitors
	TLS       string // for visitors by TLS: terminated for http, passed through for sni
	Cert      string // PEM files for clients and for visitors by TLS
	Key       string
	Budget    int64 // bytes of memory that the process may take; 0 is 256 MiB
	Trusted   []netip.Prefix
	Proxies   []netip.Prefix // they introduce each visitor by the PROXY protocol
	Lease     time.Duration
	Identity  string        // file of the key by which clients know the server
	Plaintext bool          // clients come without TLS, and with tokens: on loopback only
	Admin     string        // address of /metrics and /status, "" is none
	Token     string        // that these ask for; "" on loopback only
	LogServed bool          // access_log: all
	NoHTTP2   bool          // http2: off
	Limits    tunnel.Limits // as configured; Bytes and Lease are not
	Control   string        // path of the control socket; "" is the program's default, "off" is none
}

// noControl is the Serve.Control without a control socket.
const noControl = "off"

// Peer is a client that may connect, with its permissions. Clients that are not listed cannot
// connect.
type Peer struct {
	Name        string
	Admin       bool // may list and kick
	ID          keyid.ID
	TokenHash   [sha256.Size]byte
	TokenID     string // "": it has a key instead
	Expires     time.Time
	Hosts       []string          // names, "*." for one label
	Ports       []PortRange       // that it may listen on
	Protocols   []tunnel.Protocol // http, tcp, sni; none is all three
	Groups      []string          // of which it may be: whose members share its names with it
	MaxInflight int
	Place       string
}

// Connect holds the settings of the side of the services.
type Connect struct {
	Server    string // host:port of the server's wire listener
	ServerID  keyid.ID
	Pinned    bool   // ServerID is set
	RootCA    string // PEM file of the certificates that may sign the server's
	Key       string // PEM file; made if it is missing
	Cert      string // PEM file; "": a certificate is made for the key
	TokenFile string
	Budget    int64
	Conns     int    // connections to the server; 0 is 1
	Plaintext bool   // without TLS: on loopback only
	Admin     string // as of Serve
	Token     string // as of Serve
	Inspect   string // address, on this machine, of the page of the last requests; "" is none
}

// Pin makes the client trust only the server with this id.
func (c *Connect) Pin(id string) (err error) {
	c.ServerID, err = keyid.Parse(id)
	c.Pinned = err == nil
	return err
}

// Backoff is how a lost connection is dialed again.
type Backoff struct {
	Interval, MaxInterval time.Duration
	MaxTime               time.Duration // 0: for ever
}

// Load reads a file of either form. File names in it are relative to its directory. others are
// the sections of paddock.yaml that belong to other parts. The error joins all faults.
func Load(path string, others []string) (*Settings, error) {
	text, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Read(path, text, others, os.LookupEnv)
	if err == nil {
		s.Locate(filepath.Dir(path))
	}
	return s, err
}

// Read reads a text of either form. File names stay as they are written. env returns the value of
// ${NAME}, which the own form has.
func Read(path string, text []byte, others []string, env func(string) (string, bool)) (*Settings, error) {
	file, root := strictyaml.Parse(path, text)
	s := &Settings{}
	if root != nil {
		entries := root.Entries("the file")
		if s.Original = has(entries, "server_addr") || has(entries, "tunnels"); s.Original {
			s.readOriginal(entries)
		} else {
			file.Env = env
			s.readFile(entries, others)
		}
	}
	if err := file.Err(); err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return s, nil
}

// readFile finds our section among others.
func (s *Settings) readFile(entries []strictyaml.Entry, others []string) {
	for _, e := range entries {
		switch {
		case e.Key == "tunnel":
			s.ReadSection(e.Value)
		case !slices.Contains(others, e.Key):
			e.Unknown(append([]string{"tunnel"}, others...))
		}
	}
}

func has(entries []strictyaml.Entry, key string) bool {
	return slices.ContainsFunc(entries, func(e strictyaml.Entry) bool { return e.Key == key })
}

// Locate makes relative file names relative to dir, the directory of the configuration.
func (s *Settings) Locate(dir string) {
	for _, name := range []*string{
		&s.Serve.Cert, &s.Serve.Key, &s.Serve.Identity,
		&s.Connect.Cert, &s.Connect.Key, &s.Connect.RootCA, &s.Connect.TokenFile,
		&s.Serve.Control,
	} {
		if *name != "" && *name != noControl && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
}
