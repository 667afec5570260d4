package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"paddock/internal/platform/journal/streamlog"
)

// NeededServer is the first version of nats-server that has all that a log uses: batches of direct
// gets.
var NeededServer = [2]int{2, 11}

const (
	// slowPayload is the max_payload below which records take many messages.
	slowPayload = 256 << 10
	// needPayload is the max_payload without which no log is opened.
	needPayload = 4 << 10
	// echoTimeout bounds the wait for a message to this client itself, and monitorTimeout that for
	// a monitoring interface.
	echoTimeout    = 2 * time.Second
	monitorTimeout = 3 * time.Second
	maxMonitor     = 1 << 20 // bytes of its answer
)

// Servers is what was found about the servers of a cluster.
type Servers struct {
	Text     string
	Warnings []string
	Fault    error // without a mend of which no node works; nil: none
}

// ExamineServers looks whether servers can keep a log. prefix is that of [Options], info the state
// of the log, or nil with the reason. monitors are URLs of the monitoring interfaces of servers.
func ExamineServers(ctx context.Context, conn *nats.Conn, prefix string, info *streamlog.Info, logErr error, monitors []string) *Servers {
	s := &Servers{}
	version, known := conn.ConnectedServerVersion(), len(conn.Servers())
	s.Text = fmt.Sprintf("nats-server %s", version)
	s.Fault = errors.Join(checkVersion(version), checkPayload(conn.MaxPayload()), checkJetStream(ctx, conn), checkEcho(ctx, conn, prefix))
	if s.Fault != nil {
		return s
	}
	if conn.MaxPayload() < slowPayload {
		s.warn("max_payload is %d bytes: with 1 MB, which is the default, records take fewer messages", conn.MaxPayload())
	}
	switch {
	case info == nil && errors.Is(logErr, streamlog.ErrNoStream):
		s.Fault = fmt.Errorf("%w: paddock cluster init makes it", logErr)
		return s
	case info == nil:
		s.Fault = logErr
		return s
	}
	s.Text += fmt.Sprintf(", %s on %d servers", info.Stream, info.Wanted)
	for _, r := range info.Replicas {
		if r.State == streamlog.ReplicaOffline || r.State == streamlog.ReplicaBehind {
			s.warn("the server %s is %s", r.Name, r.State)
		}
	}
	if info.Wanted == 1 {
		s.warn("one server keeps the log: its loss is the loss of the cluster")
	}
	if info.Wanted > 1 && known == 1 {
		s.warn("cluster.url has one server: list all of them, so that a start finds another one")
	}
	if len(monitors) == 0 {
		s.warn("whether the servers sync each message cannot be seen without their monitoring: they need sync_interval: always against a loss of power (--monitor URL,... asks them)")
	}
	for _, m := range monitors {
		s.sync(ctx, m)
	}
	return s
}

func (s *Servers) warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// checkVersion returns an error about a server that is too old.
func checkVersion(text string) error {
	first, rest, _ := strings.Cut(text, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	minor, also := strconv.Atoi(second)
	if err != nil || also != nil {
		return fmt.Errorf("the server's version %q is not known", text)
	}
	if major < NeededServer[0] || major == NeededServer[0] && minor < NeededServer[1] {
		return fmt.Errorf("nats-server %s: %d.%d or later is needed", text, NeededServer[0], NeededServer[1])
	}
	return nil
}

func checkPayload(most int64) error {
	if most < needPayload {
		return fmt.Errorf("max_payload is %d bytes: at least %d are needed", most, needPayload)
	}
	return nil
}

// checkJetStream returns an error if the account has no JetStream.
func checkJetStream(ctx context.Context, conn *nats.Conn) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("JetStream: %w: enable it at the servers and for this account, and permit $JS.API.> and _INBOX.>", err)
	}
	return nil
}

// checkEcho returns an error if this user may not speak on the subjects between nodes.
func checkEcho(ctx context.Context, conn *nats.Conn, prefix string) error {
	subject := prefix + ".check." + nuid.Next()
	sub, err := conn.SubscribeSync(subject)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	bounded, cancel := context.WithTimeout(ctx, echoTimeout)
	defer cancel()
	if err := conn.Publish(subject, nil); err != nil {
		return err
	}
	if _, err := sub.NextMsgWithContext(bounded); err != nil {
		return fmt.Errorf("a message on %s does not come back: %w: permit this user to publish and subscribe on %s.>", subject, err, prefix)
	}
	return nil
}

// sync warns of a server that does not sync each message.
func (s *Servers) sync(ctx context.Context, monitor string) {
	ctx, cancel := context.WithTimeout(ctx, monitorTimeout)
	defer cancel()
	always, err := syncsAlways(ctx, monitor)
	switch {
	case err != nil:
		s.warn("the monitoring at %s: %v", monitor, err)
	case !always:
		s.warn("the server of %s does not sync each message: a loss of power may lose positions that were acknowledged: set sync_interval: always in its block jetstream", monitor)
	}
}

func syncsAlways(ctx context.Context, monitor string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+"/jsz", nil)
	if err != nil {
		return false, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	var found struct {
		Config *struct {
			SyncAlways bool `json:"sync_always"`
		} `json:"config"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxMonitor)).Decode(&found); err != nil || found.Config == nil || res.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s: no state of JetStream", res.Status)
	}
	return found.Config.SyncAlways, nil
}

// Permissions returns a block of the configuration of nats-server: an account that only the nodes
// of a cluster use, with what they need.
func Permissions(prefix, user string) string {
	if user == "" {
		user = "paddock"
	}
	return `accounts {
  PADDOCK {
    jetstream: enabled
    users: [
      {
        user: ` + user + `, password: $NATS_PASSWORD
        permissions: {
          publish: ["` + prefix + `.>", "$JS.API.>", "_INBOX.>"]
          subscribe: ["` + prefix + `.>", "_INBOX.>"]
        }
      }
    ]
  }
}
`
}
