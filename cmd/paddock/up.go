package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/busd"
	"paddock/internal/platform"
	"paddock/internal/platform/cluster"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/doors/source"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/logging"
	"paddock/internal/process/strictyaml"
	"paddock/internal/process/terminal"
	"paddock/internal/process/version"
	"paddock/internal/tunneld"
)

// upCmd runs the platform. A flag that is not given leaves its setting to the
// environment and the file.
type upCmd struct {
	Config string `short:"c" type:"path" placeholder:"FILE" help:"Configuration file; docs/reference/paddock.example.yaml shows every key."`
	Data   string `placeholder:"DIR" help:"Where positions, events and sets are kept (default $STATE_DIRECTORY, else in the user's data directory); off keeps them in memory."`
	Sets   string `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each."`
	Fence  string `placeholder:"KIND" help:"Kind of index."`
	Watch  *bool  `negatable:"" help:"Look for changed files of sets every second, and serve them (default on). SIGHUP has them read in any case."`

	Snapshots string `placeholder:"DIR" help:"Where sets are kept ready for the next start (default in the user's cache directory); off keeps none."`

	Bus       string `placeholder:"URL" help:"Be a node of a cluster: NATS servers with JetStream, separated by commas, whose stream is its log. paddock cluster init makes it."`
	Node      string `placeholder:"NAME" help:"Name of this node of a cluster (default that of the host)."`
	Advertise string `placeholder:"URL" help:"URL of this node's HTTP interface for the other nodes (default that of --listen)."`

	AcceptLoss bool `help:"Start from a damaged journal with what can be read of it. The damaged files are kept aside, and subscribers get a paddock.gap."`

	serving
}

// serving holds the flags of both up and demo. The method flags maps them to configuration keys.
type serving struct {
	Listen     string `placeholder:"ADDR" help:"Address of HTTP and dashboard (default 127.0.0.1:8080; port 0 takes a free one)."`
	BusListen  string `placeholder:"ADDR" help:"Address of the bus for NATS clients (default 127.0.0.1:4222)."`
	WireListen string `placeholder:"ADDR" help:"Address of the wire protocol (default 127.0.0.1:7400)."`
	Token      string `placeholder:"TOKEN" help:"What HTTP clients must present; needed to listen beyond loopback."`
	Public     bool   `help:"Let phones in: listen on this machine's address in its private network, ask for a key, and print the address for phones, with a QR code of it for the Traccar Client."`
	Profile    bool   `help:"Serve /debug/pprof."`
	Policy     string `placeholder:"PRESET" help:"When an object counts as inside, for sets without a policy of their own: raw, steady, accuracy or dwell:DURATION (default steady)."`
	Initial    string `placeholder:"WHAT" help:"What an object's first position causes, in all sets: none, inside or enter (default that of the policy)."`
	TTL        string `placeholder:"TIME" help:"Silence after which an object leaves its fences, as 15m, in all sets (default that of the policy)."`
}

// flags returns the given settings by their keys.
func (s *serving) flags() map[string]string {
	given := map[string]string{
		"http.listen": s.Listen, "http.token": s.Token, "bus.listen": s.BusListen, "wire.listen": s.WireListen,
		"track.policy": s.Policy, "track.initial": s.Initial, "track.ttl": s.TTL,
	}
	if s.Profile {
		given["http.profile"] = "true"
	}
	if s.Public {
		delete(given, "http.listen") // phones sets it, with the keys that it needs
	}
	return given
}

// Run serves until a signal has drained everything.
func (u *upCmd) Run(ctx context.Context, c *console) error {
	flags := u.flags()
	flags["data.dir"] = u.Data
	flags["cluster.url"], flags["cluster.node"], flags["cluster.advertise"] = u.Bus, u.Node, u.Advertise
	flags["sets.dir"], flags["sets.kind"], flags["sets.snapshots"] = u.Sets, u.Fence, u.Snapshots
	if u.Watch != nil {
		flags["sets.watch"] = strconv.FormatBool(*u.Watch)
	}
	cfg, other, err := u.load(c, flags)
	if err != nil {
		return err
	}
	started := *cfg // as it was read
	if cfg.Data.Dir, err = dataDir(cfg.Data.Dir); err != nil {
		return err
	}
	feed, own, err := u.phones(cfg, c.Stdout)
	if err != nil {
		return err
	}
	reloads, err := c.reloads()
	if err != nil {
		return err
	}
	defer reloads.Stop()
	options := platform.Options{
		Config: cfg, Reload: reloads.Part(), Reloaded: reloads.Done, AcceptLoss: u.AcceptLoss,
		Bus:      other.bus,
		Webhooks: other.webhooks, Sinks: other.sinks, Sources: other.sources,
		Reread: u.rereader(c, flags, started, other.tunnel != nil, own),
	}
	if options.Reread != nil {
		options.Rereads = reloads.Part()
	}
	if other.tunnel != nil {
		options.Tunnel = &tunneld.ServerOptions{
			Settings: other.tunnel, File: u.Config, Hangups: reloads.Part(), Reloaded: reloads.Done, Control: tunnelControl(),
			Reload: func() (*tunneld.Settings, error) {
				_, other, err := u.load(c, flags)
				if err != nil {
					return nil, tunneld.Told(err) // by the reader of the other sections
				}
				if other.tunnel == nil {
					err = errors.New("the section tunnel is gone: that takes a restart")
				}
				return other.tunnel, err
			},
		}
	}
	for next := &options; next != nil && err == nil; {
		next, err = serve(ctx, c, *next, reloads, feed)
	}
	return err
}

// rereader returns the reader of the settings that a running platform takes over. started are those
// of its start, and own are keys that are not of the file. Nil: there is no file.
func (u *upCmd) rereader(c *console, flags map[string]string, started config.Config, tunnel bool, own []keyring.Key) func() (*platform.Reread, error) {
	if u.Config == "" {
		return nil
	}
	return func() (*platform.Reread, error) {
		again, other, err := u.load(c, flags)
		if err == nil {
			err = examineAgain(again, other)
		}
		if err != nil {
			return nil, err
		}
		r := &platform.Reread{
			Keys: slices.Concat(own, again.Access.Keys), Sources: other.sources, Webhooks: other.webhooks, Sinks: other.sinks,
			Config: again, Bus: other.bus,
			Restart: slices.DeleteFunc(started.Restarts(again, ""), func(key string) bool {
				return strings.HasPrefix(key, "bus.") // the bus names its own
			}),
		}
		if other.tunnel != nil && !tunnel {
			r.Restart = append(r.Restart, "tunnel")
		}
		return r, nil
	}
}

// fileSections holds the sections of the file that only a file has; nil without them.
type fileSections struct {
	bus      *busd.Settings
	tunnel   *tunneld.Settings
	webhooks *hooks.Settings
	sinks    *sinks.Settings
	sources  []source.Settings
}

// load reads the settings, and the sections that only a file has.
func (u *upCmd) load(c *console, flags map[string]string) (cfg *config.Config, other fileSections, err error) {
	extras := map[string]config.Extra{"bus": platform.BusKeys(&other.bus, filepath.Dir(u.Config))}
	cfg, err = loadConfig(c, config.Sources{File: u.Config, Flags: flags, Extras: extras, Others: map[string]func(*strictyaml.Node){
		"tunnel":   func(n *strictyaml.Node) { other.tunnel = platform.ReadTunnel(n) },
		"webhooks": func(n *strictyaml.Node) { other.webhooks = hooks.Read(n) },
		"sinks":    func(n *strictyaml.Node) { other.sinks = sinks.Read(n) },
		"sources":  func(n *strictyaml.Node) { other.sources = source.Read(n) },
	}})
	if err == nil {
		err = platform.CheckBus(cfg, other.bus)
	}
	if other.tunnel != nil {
		other.tunnel.Locate(filepath.Dir(u.Config))
	}
	if other.webhooks != nil {
		other.webhooks.Locate(filepath.Dir(u.Config))
		other.webhooks.File = filepath.Base(u.Config)
	}
	if other.sinks != nil {
		if shared := other.sinks.Locate(filepath.Dir(u.Config)); err == nil && shared != nil {
			err = cfg.Fault("sinks", shared)
		}
	}
	for i := range other.sources {
		other.sources[i].Locate(filepath.Dir(u.Config))
	}
	return cfg, other, err
}

// dataDir returns the directory of a setting of data.dir, or "" if nothing is kept. Commands
// without that setting have the one of the environment too.
func dataDir(setting string) (string, error) {
	switch setting = cmp.Or(setting, os.Getenv("PADDOCK_DATA_DIR")); setting {
	case "off":
		return "", nil
	case "":
	default:
		return filepath.Abs(setting)
	}
	if all := filepath.SplitList(os.Getenv("STATE_DIRECTORY")); len(all) > 0 {
		return all[0], nil
	}
	base := os.Getenv("XDG_DATA_HOME")
	if home := os.Getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".local", "share")
	}
	if base == "" {
		return "", usagef("no directory to keep positions and events in: set --data DIR, or --data off")
	}
	return filepath.Join(base, "paddock"), nil
}

// loadConfig reads the settings. It ignores empty flags.
func loadConfig(c *console, s config.Sources) (*config.Config, error) {
	for key, value := range s.Flags {
		if value == "" {
			delete(s.Flags, key)
		}
	}
	s.Environ = c.Environ
	return config.Load(s)
}

// serve runs a platform, with a status line on a terminal. reloads passes SIGHUP to it; nil: no
// file is read again. feed, if any, adds sources of positions. again, if not nil, are the options
// with which the platform has to start again in this process.
func serve(ctx context.Context, c *console, o platform.Options, reloads *lifecycle.Reloads, feed func(*platform.Platform, *lifecycle.Group)) (again *platform.Options, err error) {
	status := terminal.NewStatusLine(c.Stderr)
	format := o.Config.Log.Format
	if status.Visible() && format == string(logging.Auto) {
		format = string(logging.Text) // the logger cannot see the terminal through the status line
	}
	if format == string(logging.Auto) || format == "" {
		format = string(logging.JSON) // there is no terminal
	}
	o.Log = &logging.Ring{}
	kept := *c
	kept.Stderr = io.MultiWriter(status, o.Log)
	log, err := kept.LoggerOver(o.Config.Log.Level, format)
	if err != nil {
		return nil, err
	}
	for _, w := range o.Config.Warnings {
		log.Warn(w)
	}
	o.Logger, o.Version = log, version.Get().String()
	keys := make(chan string, 1) // holds the first one
	o.FirstKey = func(secret string) { keys <- secret }
	p := platform.New(o)
	group := &lifecycle.Group{Logger: log, Timeout: o.Config.Limits.Drain}
	group.Managed = lifecycle.Managed{Manager: reloads.Manager(), Obstacle: p.Obstacle, Alive: p.Alive, Again: startsAgain, Status: p.Summary}
	p.AddTo(group)
	if reloads != nil {
		group.Add(lifecycle.Service{Name: "reloads", Run: reloads.Run})
	}
	if feed != nil {
		feed(p, group)
	}
	group.Add(lifecycle.Service{
		Name: "status",
		Start: func(context.Context) error {
			fmt.Fprintf(c.Stdout, "Dashboard: %s\nBus:       %s\nWire:      %s\n", p.URL(), p.BusURL(), p.WireAddr())
			if at := p.VisitorsAddr(); at != nil {
				fmt.Fprintf(c.Stdout, "Visitors:  http://%s\n", at)
			}
			showKey(c.Stdout, keys)
			return nil
		},
		Run: func(ctx context.Context) error { return showStatus(ctx, status, p) },
	})
	if o.Config.Cluster.On() { // the first leader makes the key
		group.Add(lifecycle.Service{Name: "first key", Run: func(ctx context.Context) error {
			select {
			case key := <-keys:
				keys <- key
				showKey(c.Stdout, keys)
			case <-ctx.Done():
			}
			return nil
		}})
	}
	err = group.Run(ctx)
	showKey(c.Stdout, keys) // it is stored, and no other start shows it, however this one has ended
	if !startsAgain(err) {
		return nil, err
	}
	if group.Stopped() {
		return nil, nil // a signal came while this one was drained
	}
	next := p.Taken()
	next.Drained = errors.Is(err, platform.ErrDrained)
	return &next, nil
}

// startsAgain reports whether a node of a cluster starts again in this process after a failure:
// another node leads, and this one becomes a follower, or it is behind the log, and its start loads
// a snapshot.
func startsAgain(failure error) bool {
	return errors.Is(failure, cluster.ErrReplaced) || errors.Is(failure, cluster.ErrBehind)
}

// showKey writes the first key, if there is one by now.
func showKey(to io.Writer, keys <-chan string) {
	select {
	case key := <-keys:
		fmt.Fprintf(to, "Key:       %s (an administrator's, shown this once; needed beyond loopback)\n", key)
	default:
	}
}

// formatP99 writes the p99 of events; 0 means that there was none.
func formatP99(d time.Duration) string {
	if d == 0 {
		return "p99 -"
	}
	return fmt.Sprintf("p99 %.1f ms", float64(d.Microseconds())/1000)
}

// showStatus shows the platform's figures each second until ctx ends.
func showStatus(ctx context.Context, s *terminal.StatusLine, p *platform.Platform) error {
	if !s.Visible() {
		return nil
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer s.Show("")
	before, since := p.Totals(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			t, per := p.Totals(), now.Sub(since).Seconds()
			line := fmt.Sprintf("%7.0f positions/s  %6.0f events/s  %7d objects  %s",
				float64(t.Accepted-before.Accepted)/per, float64(t.Events-before.Events)/per, p.Objects(), formatP99(t.EventP99))
			if bad := t.Rejected + t.Overloaded + t.Full - before.Rejected - before.Overloaded - before.Full; bad > 0 {
				line += fmt.Sprintf("  %.0f refused/s", float64(bad)/per)
			}
			s.Show(line)
			before, since = t, now
		}
	}
}
