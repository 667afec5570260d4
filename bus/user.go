package bus

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// User is one who may connect: by name and password, or by nkey.
type User struct {
	Name     string
	Password string // plain, or a bcrypt hash; "" = the empty one, or with TLS.MapUsers none
	NKey     string // public key, "U..."; in place of Name and Password

	Permissions *Permissions // nil = Config.Permissions
	// Connections lists how the user may connect; empty = in every way.
	Connections []ConnectionType
}

// Permissions say what a user may publish and subscribe to. The zero value
// permits everything.
//
// A SUB is refused if an entry of Subscribe.Deny matches its subject as it is
// written, or no entry of Subscribe.Allow matches everything that it does. A
// wildcard that goes beyond an entry of Deny is accepted, and what is denied is
// not delivered.
//
// Entries that name a queue are for SUBs with that queue, which may have
// wildcards as subjects have. Where entries of Allow name queues for a subject, a
// queue has to be among them; a SUB without a queue needs an entry without one.
type Permissions struct {
	Publish   SubjectPermission
	Subscribe SubjectPermission // an entry may name a queue behind the subject: "orders.* workers"
	// AllowResponses lets who has received a request publish to its reply subject,
	// whatever Publish says. An empty Publish.Allow then permits nothing else. nil
	// = no.
	AllowResponses *ResponsePermission
}

// SubjectPermission lists patterns of subjects. What Deny matches is refused; of
// the rest, what Allow matches is permitted, or everything if Allow is empty.
type SubjectPermission struct{ Allow, Deny []string }

// ResponsePermission bounds the answers to one request.
type ResponsePermission struct {
	Max     int           // answers; 0 = 1, -1 = no limit
	Expires time.Duration // from the request's delivery; 0 = 2 min, -1 = never
}

// ConnectionType is a way to connect, under the name that configurations use.
type ConnectionType string

// The ways to connect to this broker.
const (
	ConnectionStandard  ConnectionType = "STANDARD"
	ConnectionWebSocket ConnectionType = "WEBSOCKET"
	ConnectionInProcess ConnectionType = "IN_PROCESS"
)

// connectionTypes are all that configurations may name. Who may come only by ways
// that this broker has not cannot come.
var connectionTypes = []ConnectionType{
	ConnectionStandard, ConnectionWebSocket, ConnectionInProcess,
	"LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS",
}

// ParseConnectionType gives the way to connect of that name, in any case of letters.
func ParseConnectionType(name string) (ConnectionType, error) {
	if t := ConnectionType(strings.ToUpper(name)); slices.Contains(connectionTypes, t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown connection type %q", name)
}
