// Package distributed makes the load of one run from several machines. A controller hands the job
// to workers over a NATS server, compares their clocks with its own, and adds up what they count,
// second by second, as if one process had counted it.
//
// These are the subjects. RUN is drawn for each run, and ID for each worker:
//
//	paddock.bench.RUN.plan      offers the run to all workers, which answer to .join
//	paddock.bench.RUN.plan.ID   brings a piece of the job
//	paddock.bench.RUN.ready.ID  ends the job, and says which threads are the worker's
//	paddock.bench.RUN.go.ID     says when the run begins
//	paddock.bench.RUN.beat.ID   asks for the worker's clock, each second
//	paddock.bench.RUN.stop.ID   ends the sending, or releases the worker
//	paddock.bench.RUN.stat      brings a worker's counts of a second
//	paddock.bench.RUN.fin       brings its totals, until it is answered
//
// Thread k of the M threads of all workers sends the arrivals k, k+M, k+2M and so on of the one
// schedule: the union is the run of one process with M threads.
package distributed

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/netio/natslogin"
	"paddock/load"
)

// MaxWorkers is how many workers a run has at most.
const MaxWorkers = 64

// The bounds and times of the protocol.
const (
	protocol = 1 // its version
	prefix   = "paddock.bench."

	maxJob   = 64 << 20  // bytes of a job, unpacked
	maxPiece = 256 << 10 // of a job, in one message

	joinTime  = 10 * time.Second       // for workers to join
	offerTime = 500 * time.Millisecond // between two offers
	readyTime = 30 * time.Second       // for a worker to prepare its requests
	replyTime = 5 * time.Second        // for an answer to anything else
	lead      = 2 * time.Second        // from the message go to the beginning of the run

	clocks    = 50 // readings of a worker's clock before the run
	beatEvery = time.Second
	maxMissed = 3 // beats without an answer, after which a worker is lost
	// A worker leaves a run without a message of its controller for so long, before the load begins
	// and while it goes on.
	setupPatience = time.Minute
	patience      = 10 * time.Second
)

// offer is the message plan to all. Size and SHA256 are of the packed job.
type offer struct {
	Protocol int
	Target   string // host:port
	Size     int
	SHA256   []byte
}

// assignment is the message ready: the worker's threads, of those of all.
type assignment struct{ First, Threads, Of int }

// start is the message go. Both are in ns: when the run begins by the controller's clock, and how
// much the worker's clock is ahead of that.
type start struct{ Begin, Offset int64 }

// reply is a worker's answer to any message: whether it takes part, and whether it did what was
// asked. A beat brings the time at which it was sent by the controller's clock, in ns, and takes it
// back beside the worker's.
type reply struct {
	ID, Name     string
	Cores        int
	Error        string // why not; "" = it did
	Asked, Clock int64
}

// final is the message fin.
type final struct {
	ID         string
	Frames     int // how many messages stat there were
	Sent, Done int64
	Check      uint64 // the checksum; it and the two before are of all those messages
	Skew       time.Duration
	Result     load.Result // without its Total
	DNS        packed      // how long the service's name took before the run; it is in no message stat
	Verdict    load.Verdict
	Error      string // why nothing was measured; "" = it was
}

// newClock returns a clock in ns that does not step when the system's is set.
func newClock(shift time.Duration) func() int64 {
	zero := time.Now()
	return func() int64 { return zero.UnixNano() + int64(time.Since(zero)+shift) }
}

// encode writes a message of this package, none of which JSON refuses.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("distributed: " + err.Error())
	}
	return b
}

// Bus says where the NATS server is, and how to log in there.
type Bus struct {
	Server string `name:"bus" placeholder:"URL" help:"NATS server over which controller and workers talk, such as nats://USER:PASSWORD@HOST:4222."`
	Creds  string `name:"bus-creds" type:"path" placeholder:"FILE" help:"Credentials for the NATS server."`
	CA     string `name:"bus-ca" type:"path" placeholder:"FILE" help:"Authorities to trust instead of the system's, for a NATS server with TLS (PEM)."`
}

// Connect connects to the bus. It refuses a bus beyond loopback that asks for no credentials, and
// ends the connection if such a server takes the place of the first one.
func (b Bus) Connect(name string) (*nats.Conn, error) {
	login := natslogin.Login{Creds: b.Creds, RootCA: b.CA}
	nc, err := nats.Connect(b.Server, append(login.Options(), nats.Name("paddock bench "+name),
		nats.Timeout(replyTime), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.IgnoreDiscoveredServers(),
		nats.NoCallbacksAfterClientClose(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			if trusted(nc.ConnectedAddr(), nc.AuthRequired()) != nil {
				nc.Close()
			}
		}))...)
	if err != nil {
		return nil, fmt.Errorf("the bus: %w", err)
	}
	if err := trusted(nc.ConnectedAddr(), nc.AuthRequired()); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

// trusted refuses the server at an address that asks for no credentials, unless the address is on
// loopback.
func trusted(address string, asks bool) error {
	at, err := netip.ParseAddrPort(address)
	if asks || err == nil && at.Addr().Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("the bus at %s asks for no credentials, and is beyond loopback: any client could make load from workers; give it users or a token", address)
}
