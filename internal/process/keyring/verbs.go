package keyring

import (
	"fmt"
	"slices"
	"strings"
)

// Verbs is a set of actions that a key permits.
type Verbs uint8

// The verbs.
const (
	PositionsWrite Verbs = 1 << iota // send positions
	EventsRead                       // follow and read events
	ObjectsRead                      // read objects, their tracks, visits and forecasts
	Lookup                           // look up points; read sets, fences and tiles
	SetsWrite                        // read and change sets, fences and policies
	RulesWrite                       // read, try and change rules
	Admin                            // everything, without limits
)

var verbNames = []string{"positions:write", "events:read", "objects:read", "lookup", "sets:write", "rules:write", "admin"}

// ParseVerb returns the verb with a name.
func ParseVerb(name string) (Verbs, error) {
	i := slices.Index(verbNames, name)
	if i < 0 {
		return 0, fmt.Errorf("%.32q is no verb: use %s", name, strings.Join(verbNames, ", "))
	}
	return 1 << i, nil
}

// Names returns the names of the verbs.
func (v Verbs) Names() []string {
	names := []string{}
	for i, name := range verbNames {
		if v&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names with "or" between them.
func (v Verbs) String() string { return strings.Join(v.Names(), " or ") }
