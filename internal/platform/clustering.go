package platform

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/fence/track"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/cluster"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// connectTimeout bounds the wait for the servers and the log at the start.
const connectTimeout = 30 * time.Second

// leaveTimeout is twice the time for which deliveries under way may delay the next leader: hooks
// and sinks drain in half of the time that is left.
const leaveTimeout = 600 * time.Millisecond

// member is this platform as a node of a cluster.
type member struct {
	conn    *nats.Conn
	log     *streamlog.Log
	node    *cluster.Node
	roots   *x509.CertPool // of the other nodes; nil: the system's
	forward *cluster.Forwarder

	ctx     context.Context // ends when the node leaves
	leave   context.CancelFunc
	ended   sync.WaitGroup          // of the node and the forwarder
	failed  context.Context         // its cause is the first failure of the node, or ErrDrained
	fail    context.CancelCauseFunc // ends failed
	leading chan struct{}           // closed when the node is the leader
	stop    func()                  // stops to answer followers

	written, failures, snapshotBytes atomic.Uint64 // see snapshotMetrics
}

// joinCluster opens the log of the cluster, if there is one. Its entries go to the journal and the
// pipeline once the node runs. open opens the journal again after a snapshot was put in its place.
func (p *Platform) joinCluster(ctx context.Context, open func() error) error {
	c := &p.cfg.Cluster
	if !c.On() {
		return p.refuseNode()
	}
	waiting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := ConnectCluster(waiting, c, p.log)
	if err != nil {
		return p.cfg.Failure("cluster.url", err)
	}
	m := &member{conn: conn, leading: make(chan struct{})}
	m.ctx, m.leave = context.WithCancel(context.WithoutCancel(ctx))
	m.failed, m.fail = context.WithCancelCause(context.WithoutCancel(ctx))
	p.member = m
	if m.roots, err = deliver.Roots(c.RootCA); err != nil {
		return p.cfg.Fault("cluster.root_ca", err)
	}
	if m.log, err = streamlog.Open(waiting, conn, LogOf(c)); err != nil {
		if errors.Is(err, streamlog.ErrNoStream) {
			err = fmt.Errorf("%w: paddock cluster init makes it", err)
		}
		return p.cfg.Failure("cluster.url", err)
	}
	if err := p.catchUp(ctx, open); errors.Is(err, errServers) {
		return p.cfg.Failure("cluster.url", err)
	} else if err != nil {
		return err
	}
	var aside time.Duration
	if p.opts.Drained {
		aside = drainedFor
	}
	m.node, err = cluster.Join(m.ctx, cluster.Options{
		Conn: conn, Log: m.log, Own: nodeJournal{p.journal, p.fileSecrets()}, Prefix: prefixOf(c), Cluster: c.Name, Name: nodeName(c), URL: cmp.Or(c.Advertise, p.ownURL()), Version: p.opts.Version, Logger: p.log,
		Apply:   func(number uint64, record []byte) error { return p.pipeline.Replicate(number, record) },
		Changed: p.takeChanged, Lead: p.lead, Unfit: func() string { return p.pipeline.Refusing() }, Aside: aside,
	})
	if err != nil {
		return err
	}
	if err := m.node.AwaitTime(ctx); err != nil {
		return p.cfg.Failure("cluster.url", err)
	}
	m.forward = cluster.NewForwarder(m.ctx, m.node, func() *ingest.Pipeline { return p.pipeline })
	p.sessionKey = logSecret(m.log.ID)
	if at := cmp.Or(c.Advertise, p.ownURL()); at == "" || strings.HasSuffix(at, ":0") {
		p.log.Warn("other nodes cannot pass changes to this one: give its URL with --advertise, or cluster.advertise", "http.listen", p.cfg.HTTP.Listen)
	}
	p.registry.MustRegister(cluster.NewCollector(m.status))
	return nil
}

// logSecret returns the secret under which browsers hold sessions at all nodes.
func logSecret(id string) []byte {
	sum := sha256.Sum256([]byte("session " + id))
	return sum[:]
}

// ownURL returns the URL that http.listen has for other nodes.
func (p *Platform) ownURL() string {
	host, port, err := net.SplitHostPort(p.cfg.HTTP.Listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	scheme := "http"
	if p.cfg.HTTP.Cert != "" || p.cfg.HTTP.ACME != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// openMember takes part in the cluster until the node leaves or fails. It returns once the node has
// caught up with the log: what was acknowledged before is known here when the doors open.
func (p *Platform) openMember(ctx context.Context) (err error) {
	m := p.member
	if m == nil {
		return nil
	}
	if m.stop, err = m.node.Serve(p.pipeline); err != nil {
		return err
	}
	m.ended.Go(m.forward.Run)
	m.ended.Go(func() {
		if err := m.node.Run(m.ctx); err != nil {
			m.fail(err)
		}
	})
	begun := time.Now()
	select {
	case <-m.node.CaughtUp():
	case <-m.failed.Done():
		return context.Cause(m.failed)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.log.Info("caught up with the log of the cluster", "sets", p.catalog.Len(), "objects", p.Objects(), "events", p.events.Latest(), "took", time.Since(begun))
	return nil
}

// watchMember ends with the failure of the node.
func (p *Platform) watchMember(ctx context.Context) error {
	if p.member == nil {
		return nil
	}
	select {
	case <-p.member.failed.Done():
		return context.Cause(p.member.failed)
	case <-ctx.Done():
		return nil
	}
}

// drainedFor is how long a node that has given its role away leaves it to others.
const drainedFor = 10 * time.Second

// ErrDrained ends a leader that gives its role to another node.
var ErrDrained = fmt.Errorf("%w: it gives its role to another node, as it was asked to", cluster.ErrReplaced)

// drainLeader returns what gives the role of this leader to another node, or nil where there is one
// node. Everything is drained as at the end of the process, and started again.
func (p *Platform) drainLeader() func(node string, note func(own string) error) error {
	m := p.member
	if m == nil {
		return nil
	}
	return func(node string, note func(own string) error) error {
		own := nodeName(&p.cfg.Cluster)
		if node != "" && node != own {
			return fmt.Errorf("%.64q does not lead, %s does", node, own)
		}
		if m.failed.Err() != nil {
			return errors.New("the role is given away already")
		}
		if err := m.node.CanHandOver(); err != nil {
			return err
		}
		if err := note(own); err != nil {
			return err
		}
		m.fail(ErrDrained)
		return nil
	}
}

// stopClaims lets this node become the leader no more, as it ends.
func (p *Platform) stopClaims(context.Context) error {
	if p.member != nil {
		p.member.node.Leave()
	}
	return nil
}

// leaveCluster tells the other nodes that this one leads no more. What was accepted is applied by
// now. The next leader waits for this one, so a request to a webhook that takes long is cut: it
// comes again.
func (p *Platform) leaveCluster(ctx context.Context) error {
	m := p.member
	if m == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	var drains sync.WaitGroup
	drains.Go(func() { _ = p.hooks.Drain(bounded) }) // neither fails
	drains.Go(func() { _ = p.sinks.Drain(bounded) })
	drains.Wait()
	if m.stop != nil {
		m.stop()
	}
	m.close()
	return nil
}

// status returns what the node knows of its cluster.
func (m *member) status(ctx context.Context) *cluster.Status { return m.node.Status(ctx, m.forward) }

func (m *member) close() {
	m.leave()
	m.ended.Wait()
	_ = m.conn.FlushTimeout(time.Second) // the last beat; the servers may be away
	m.conn.Close()
}

// takeChanged takes over values that the leader has changed.
func (p *Platform) takeChanged(names []string) {
	if p.views != nil {
		p.views.Arrived(names)
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, audit.Prefix) && p.audit != nil:
			p.audit.Changed()
		case name == keysName && p.keys != nil:
			if err := p.keys.Reload(); err != nil {
				p.log.Error("the keys of the cluster are not in use", "error", err)
			}
		case name == erasedName && p.history != nil:
			if err := p.eraseToo(); err != nil {
				p.log.Error("the past of an object, which was removed at the leader, is still here: remove it again", "error", err)
			}
		}
	}
}

const (
	// erasedName is the value with the object whose past the leader has removed. Each other node
	// removes this past when it applies the value. The leader empties the value right after.
	erasedName = "cluster/erased"
	// eraseTimeout bounds the wait of a node for its history before it removes a past. Meanwhile
	// the node applies nothing of the log.
	eraseTimeout = time.Minute
)

// tellErased lets the other nodes remove the past of an object too.
func (p *Platform) tellErased(fleet, id string) error {
	if p.member == nil {
		return nil
	}
	object := journal.AppendText(journal.AppendText(nil, fleet), id)
	return errors.Join(p.shared.Put(journal.Value{Name: erasedName, Bytes: object}), p.shared.Put(journal.Value{Name: erasedName}))
}

// eraseToo removes the past of the object that the leader has told of.
func (p *Platform) eraseToo() error {
	b, err := p.journal.Get(erasedName)
	if err != nil || len(b) == 0 {
		return err
	}
	f := journal.Fields{Rest: b}
	o := history.Object{Fleet: f.Text(), ID: f.Text()}
	if f.Failed {
		return fmt.Errorf("%w: %s", journal.ErrDamaged, erasedName)
	}
	ctx, cancel := context.WithTimeout(p.member.ctx, eraseTimeout)
	defer cancel()
	_, err = p.history.Erase(ctx, o)
	return err
}

// lead makes this node the leader.
func (p *Platform) lead() error {
	preset, err := track.ParsePolicy(p.cfg.Track.Policy)
	if err != nil {
		return err
	}
	p.book.SetDefault(preset) // that of the leader holds
	p.book.Release()          // rules and policies of files become those of the API: a cluster has no files
	p.pipeline.Lead()
	if err := p.pipeline.Settle(); err != nil && p.pipeline.Refusing() == "" {
		return err
	}
	if err := errors.Join(p.audit.Reload(), p.keys.Reload()); err != nil {
		return err
	}
	if _, err := p.journal.Get(keysName); errors.Is(err, journal.ErrNotFound) {
		if err := p.addFirstKey(); err != nil {
			return err
		}
	}
	close(p.member.leading)
	return errors.Join(p.hooks.Begin(), p.sinks.Begin())
}

// toLeader returns what makes requests to other nodes, or nil for the default.
func (p *Platform) toLeader() http.RoundTripper {
	if p.member == nil || p.member.roots == nil {
		return nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: p.member.roots}
	return t
}

// asker returns what passes requests about rules to the node that makes changes, or nil where there
// is one node.
func (p *Platform) asker() busapi.Asker {
	m := p.member
	if m == nil {
		return nil
	}
	return func(ctx context.Context, request []byte) (answer []byte, elsewhere bool, err error) {
		for p.pipeline.Role() != ingest.Leader {
			answer, err = m.node.Ask(ctx, rulesKind, request)
			if !errors.Is(err, cluster.ErrHere) {
				return answer, true, err
			}
			select {
			case <-ctx.Done():
				return nil, true, err
			case <-time.After(becomingPause): // the node leads a moment before its pipeline does
			}
		}
		return nil, false, nil
	}
}

const (
	// rulesKind is the kind of requests about rules between nodes.
	rulesKind = "rules"
	// becomingPause is the time between two looks whether this node has become the leader.
	becomingPause = 10 * time.Millisecond
)

// maxPage bounds the fences that are stored together: they are written to the log with up to 4 MiB
// of others. 0: there is one node.
func (p *Platform) maxPage() int {
	if p.member == nil {
		return 0
	}
	return streamlog.MaxEntry - 8*int(config.MiB)
}

// leader returns what tells which node makes changes, or nil where there is one node.
func (p *Platform) leader() func() (url string, here bool) {
	m := p.member
	if m == nil {
		return nil
	}
	return func() (string, bool) {
		if p.pipeline.Role() == ingest.Leader {
			return "", true
		}
		b, _ := m.node.Leader()
		return b.URL, false
	}
}

// clusterStatus returns what tells of the cluster, or nil where there is one node.
func (p *Platform) clusterStatus() func(context.Context) *cluster.Status {
	if p.member == nil {
		return nil
	}
	return p.member.status
}
