package busd

import (
	"time"

	"paddock/bus"
)

// Settings are everything that the program is told. A zero field means the default.
type Settings struct {
	Bus bus.Config

	// What bus.Config gets once the server is made.
	Users      []bus.User
	NoAuthUser string
	TLS        *bus.TLS
	WebSocket  *bus.WebSocket
	Unix       string
	Prefixes   []string

	HTTP    Monitoring
	Profile int // port of /debug/pprof on loopback; 0 = none, -1 = any free port
	Log     Log

	PidFile  string
	PortsDir string   // directory of the ports file; "" = none
	Tags     []string // told by monitoring

	ConfigFile string   // "" = none was given
	Digest     string   // of the configuration file
	Warnings   []string // to be logged once there is a log

	faults []error // of flags
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
