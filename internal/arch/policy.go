package arch

// Policy is the shape of one module: its storeys, and the exceptions from the
// rules with the reason for each.
type Policy struct {
	Module      string            // path of the module
	Base        []string          // libraries that stand alone
	Upper       []string          // libraries over those; a directory within one of Base may be one
	Composition string            // where the services meet
	Leaves      map[string]string // directory: the one idea that it holds

	// Exceptions, each with its reason.
	Edges     map[string]string // "from -> to" in directories or units, for every file
	TestEdges map[string]string // "from -> to" in directories, for tests
	LongFiles map[string]string // path
	LongFuncs map[string]string // "path:Func" or "path:Type.Func"
	Sleeps    map[string]string // path of a test that sleeps
	Unchecked map[string]string // directory that starts goroutines and has no leak check
}

// exceptions returns the lists by the names of their fields.
func (p *Policy) exceptions() map[string]map[string]string {
	return map[string]map[string]string{
		"Edges":     p.Edges,
		"TestEdges": p.TestEdges,
		"LongFiles": p.LongFiles,
		"LongFuncs": p.LongFuncs,
		"Sleeps":    p.Sleeps,
		"Unchecked": p.Unchecked,
	}
}

// Paddock is this module's policy.
var Paddock = Policy{
	Module:      "paddock",
	Base:        []string{"wire", "bus", "fence", "load"},
	Upper:       []string{"fence/track", "tunnel"},
	Composition: "internal/platform",
	Leaves: map[string]string{
		"internal/process/access":      "does this request bring the token",
		"tunnel/internal/admission":    "who is let in while others wait, and who is refused",
		"internal/platform/budget":     "how much memory large requests take together",
		"tunnel/internal/clienthello":  "whom a TLS client wants, from its first bytes",
		"internal/netio/handshake":     "what connections cost whose peers are not known yet",
		"internal/histogram":           "durations, counted in a fixed room",
		"internal/netio/hostname":      "the one form of a host's name",
		"internal/process/keyid":       "a machine's key, and the id by which others know it",
		"internal/process/lifecycle":   "start in order, drain in the opposite order",
		"internal/netio/listen":        "how a service may listen: who can reach it, how many at once",
		"internal/process/logbound":    "how many lines of the log a flood becomes",
		"internal/process/logging":     "one logger, text or JSON",
		"internal/platform/position":   "the bytes of one position, for whoever sends it as for whoever takes it",
		"internal/busd/natsconf":       "the configuration grammar of NATS servers, its keys without meaning",
		"internal/netio/nowait":        "reads and writes of a socket that never wait",
		"internal/platform/plainjson":  "JSON that keeps <, > and & as they are",
		"internal/platform/pointquery": "one point as queries hold it, read in one pass",
		"tunnel/internal/proxyproto":   "who the client is, told to a server behind a proxy",
		"internal/agent/spool":         "records on disk until their receiver has them",
		"internal/process/strictyaml":  "YAML, with the place of whatever is wrong in it",
		"internal/process/version":     "which build is running",

		"tunnel/internal/h1":      "HTTP/1.1 as a tunnel speaks it, as bytes",
		"tunnel/internal/message": "the tunnel's protocol as bytes",
		"tunnel/internal/pipe":    "connections within the process that behave as sockets do",
	},
	Edges: map[string]string{
		"internal/platform/httpapi -> internal/platform/events": "GET /v1/events and the live feed read the event log",
		"internal/platform/httpapi -> internal/platform/ingest": "POST /v1/positions hands positions in and waits for their outcome",
		"internal/platform/httpapi -> internal/platform/lookup": "GET and POST /v1/search answer what the other doors answer",
		"internal/platform/httpapi -> internal/platform/tiles":  "GET /v1/sets/{set}/tiles draws what the map shows",
		"internal/platform/wireapi -> internal/platform/events": "fence.events follows the event log",
		"internal/platform/wireapi -> internal/platform/ingest": "pos.update hands positions in and is acknowledged once they have been applied",
		"internal/platform/wireapi -> internal/platform/lookup": "fence.search answers what the other doors answer",
		"internal/process/access -> internal/netio/handshake":   "wrong secrets cost an address the same over HTTP as over wire",
		"internal/lab -> internal/city":                         "where there is no real data, the simulated city's vehicles are what is posted",
		"internal/platform/ingest -> internal/platform/events":  "a shard encodes the events of a batch before it answers for the batch",
		"internal/platform/httpapi -> internal/netio/plainhttp": "look-ups of one point are answered without net/http where they are plain",
		"internal/tunneld -> internal/process/config":           "sizes are written alike in all files",
		"internal/tunneld -> internal/tunneld/inspector":        "a client keeps the last exchanges with its services where it is told to",
		"internal/tunneld -> internal/platform/ui":              "a server of tunnels alone shows the dashboard's page of them at its admin address",
		"internal/tunneld -> internal/process/metrics":          "the tunnel as a program of its own has a registry of its own",
		"internal/website -> internal/netio/plainhttp":          "pages in memory are answered without net/http to plain requests",
		"internal/agent -> internal/process/config":             "sizes and secrets are written alike in all files",
		"internal/agent -> internal/platform/events":            "the platform's events are kept and named at the edge as they are there",
		"internal/agent -> internal/platform/ingest":            "the agent judges positions as the platform's doors do, before it takes them",
		"internal/agent -> internal/tunneld":                    "the agent reaches the platform, and offers services, by the settings of a tunnel's client",
		"internal/agent -> internal/process/metrics":            "the agent's own registry is made like the platform's",

		"tunnel/internal/message -> tunnel/internal/h1": "an exchange carries a head of HTTP/1.1, and both bound it alike",

		"internal/platform/httpapi -> internal/platform/directory": "GET /v1/sets tells which file a set was read from, and whether it can be read now",
	},
	TestEdges: map[string]string{
		"load -> internal/lab/responder": "the engine is measured and judged against services whose behaviour is known",
		"fence -> internal/city":         "every kind of index is compared with the oracle over the simulated city too",
	},
	LongFiles: map[string]string{},
	LongFuncs: map[string]string{},
	Sleeps: map[string]string{
		"tunnel/internal/admission/limit_test.go": "a service's work takes time, and so do its visitors, all in bubbles",
		"wire/client_model_test.go":               "a pause of its program is work that takes time, in bubbles and over sockets; nothing waits for it",
	},
	Unchecked: map[string]string{},
}
