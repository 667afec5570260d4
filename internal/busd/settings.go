package busd

import (
	"slices"
	"time"

	"paddock/bus"
	"paddock/internal/busd/bridge"
)

// Settings are everything that the program is told. A zero field means the default.
type Settings struct {
	Bus bus.Config

	Bridges []bridge.Config // to other servers

	HTTP    Monitoring
	Profile int // port of /debug/pprof on loopback; 0 = none, -1 = any free port
	Log     Log

	PidFile  string
	PortsDir string   // directory of the ports file; "" = none
	Tags     []string // told by monitoring

	Ignore     []string // keys of the file that are not refused: promisedKeys
	Origins    []string // of pages that WebSocket takes, "*" = of all; nil = what the file says
	ConfigFile string   // "" = none was given
	Digest     string   // of the configuration file
	Warnings   []string // to be logged once there is a log

	flagTLS         tlsFlags
	allowNonTLS     bool
	sameOriginGiven bool
	webSocketFlag   bool
	credentialFlags bool
	faults          []error // of flags
}

// Monitoring is the door of package monitor.
type Monitoring struct {
	Host     string // "" = the host of the clients' port
	Port     int    // 0 = none, -1 = any free port
	TLSPort  int    // the same with TLS, in place of Port
	BasePath string // in front of every path, "/" = none
}

// Log says where lines go and which.
type Log struct {
	File     string // "" = stderr
	Syslog   bool
	Remote   string // address of a syslog server, "udp://host:port"
	Debug    bool
	Trace    bool
	NoTime   bool
	UTC      bool
	MaxBytes int64 // of the file, before it is put aside; 0 = no limit
	MaxFiles int   // kept, the present one among them; 0 = all
}

// drainTime bounds a shutdown. Kubernetes leaves 30 s between SIGTERM and SIGKILL.
const drainTime = 25 * time.Second

func (s *Settings) warn(text string) { s.Warnings = append(s.Warnings, text) }

// tlsFlags are the parts of a TLS configuration as flags give them, over the file.
type tlsFlags struct {
	on, verify    bool
	cert, key, ca string
}

// SetUser, SetPassword and SetToken put credentials in the place of whatever the
// file asks for.
func (s *Settings) SetUser(name string) { s.ownCredentials().Username = name }

// SetPassword gives SetUser's user a password.
func (s *Settings) SetPassword(password string) { s.ownCredentials().Password = password }

// SetToken asks for a token.
func (s *Settings) SetToken(token string) { s.ownCredentials().Token = token }

// ownCredentials drops those of the file when the first flag about them comes.
func (s *Settings) ownCredentials() *bus.Config {
	if !s.credentialFlags {
		s.credentialFlags = true
		s.Bus.Username, s.Bus.Password, s.Bus.Token = "", "", ""
		s.Bus.Users, s.Bus.NoAuthUser = nil, ""
	}
	return &s.Bus
}

// SetTLS asks for TLS with these files; verify asks clients for certificates.
func (s *Settings) SetTLS(cert, key, ca string, verify bool) {
	s.flagTLS = tlsFlags{true, verify, cert, key, ca}
}

// SetWebSocket opens the door for web pages, with the certificate of the other door
// if that has one.
func (s *Settings) SetWebSocket(port int) {
	if s.Bus.WebSocket == nil {
		s.Bus.WebSocket = new(bus.WebSocket)
	}
	s.Bus.WebSocket.Port, s.webSocketFlag = port, true
}

// secure turns the flags about TLS into a configuration, which is that of WebSocket too if
// only a flag asks for that.
func (s *Settings) secure() {
	if t := s.flagTLS; t != (tlsFlags{}) {
		cfg, err := tlsFiles{pairs: []keyPair{{t.cert, t.key}}, ca: t.ca, verify: t.verify}.config()
		if err != nil {
			s.fault(err)
		} else {
			s.Bus.TLS = &bus.TLS{Config: cfg}
		}
	}
	if s.Bus.TLS != nil {
		s.Bus.TLS.AllowNonTLS = s.allowNonTLS
	}
	if w := s.Bus.WebSocket; s.webSocketFlag && w.TLS == nil && s.Bus.TLS != nil {
		w.TLS = s.Bus.TLS.Config
	}
}

// limitOrigins settles of which pages WebSocket takes connections. Any page that a browser
// shows can reach this machine: where no credentials are asked for it must be one of ours.
func (s *Settings) limitOrigins() {
	w := s.Bus.WebSocket
	switch {
	case w == nil:
	case slices.Contains(s.Origins, "*"):
		w.SameOrigin, w.AllowedOrigins = false, nil
	case len(s.Origins) > 0:
		w.SameOrigin, w.AllowedOrigins = false, s.Origins
	case !s.Bus.AllowOpen && !s.AsksForCredentials() && !s.sameOriginGiven && len(w.AllowedOrigins) == 0:
		w.SameOrigin, w.LocalNames = true, true
	}
}

// fault keeps what is wrong with a flag that names a file.
func (s *Settings) fault(err error) { s.faults = append(s.faults, err) }
