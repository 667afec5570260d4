package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	natscodec "paddock/lab/internal/codec/nats"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/persona/nats2012"
	"paddock/lab/internal/report"
	"paddock/lab/internal/results"
	"paddock/lab/internal/runfile"
	"paddock/lab/process"
	"paddock/load"
)

// natsCmd measures a NATS server. docs/guides/bench-nats.md is its guide.
type natsCmd struct {
	Do string `arg:"" optional:"" placeholder:"pub|sub|pubsub|request" complete:"pub,sub,pubsub,request" help:"pub: messages that the server confirms. pubsub: messages, and subscribers that get them, each verified and timed. request: requests and their replies. sub: subscribers alone."`

	Addr    string `short:"a" placeholder:"HOST:PORT" help:"Server to measure (default a \"paddock bus\" of its own, as a second process)."`
	Subject string `short:"s" placeholder:"SUBJECT" default:"paddock.bench" help:"Subject; of sub, with wildcards if you like (default ${default})."`
	Payload int    `placeholder:"BYTES" default:"128" help:"Size of a message (default ${default})."`
	Body    string `name:"body" placeholder:"TEXT" help:"Body of each message or request, instead of --payload."`
	Subs    int    `placeholder:"N" default:"1" help:"Subscribers, a connection each; of request, the repliers: 0 if another program replies (default ${default})."`
	Queue   string `placeholder:"GROUP" help:"The subscribers are a queue group: each message goes to one of them."`

	User  string `placeholder:"USER" help:"User to log in as, with --pass."`
	Pass  string `placeholder:"PASSWORD" help:"Password of the user; better given in the environment."`
	Token string `placeholder:"TOKEN" help:"Token to log in with; better given in the environment."`

	Originals bool `help:"Make the ten Go benchmarks of the NATS server of 2012, a second each or --duration, as lines that benchstat reads. It takes --addr, the login, --duration, --repeat and --json, and refuses other flags."`

	loadFlags `kong:"embed,set='conns=1',set='depth=256'"`
}

// Help describes the checks and the exit codes.
func (*natsCmd) Help() string {
	return `-c is the connections that publish or ask. Without --rate each has --depth messages under way; with --rate they are due at their times, and times count from when they were due.

pub: a message is done when the server has answered the PING behind its batch. pubsub: it is done at each subscriber that gets it; lost, doubled and reordered messages are counted, and any of the first two fails the run. With -c many publishers, with --subs many subscribers.

Exit codes: 0 everything came and the objectives held, 1 a failure of this side, 2 usage, 3 an objective was missed, or messages were lost or came twice, 4 nothing was measured, or an objective cannot be told, 130 interrupted.

    paddock bench nats pubsub --subs 4 --rate "poisson 20000/s" -d 30s --slo "p99<5ms"
    paddock bench nats request -a 127.0.0.1:4222 --depth 1
    paddock bench nats --originals`
}

// doing lists the kinds of load.
var doing = map[string]natscodec.Do{
	"pub": natscodec.Publish, "sub": natscodec.Subscribe, "pubsub": natscodec.PubSub, "request": natscodec.Request,
}

// maxMessage bounds a message: most servers take 1 MiB.
const maxMessage = 64 << 20

// Run makes the run and prints its report.
func (b *natsCmd) Run(ctx context.Context, parsed *kong.Context, c *Console) (err error) {
	if b.Originals {
		if err := b.checkOriginals(parsed); err != nil {
			return usageError(err)
		}
		return b.originals(ctx, c)
	}
	run, err := b.plan()
	if err != nil {
		return err
	}
	address, stop, err := b.server(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	run.plan.Address = address
	return run.run(ctx, c)
}

// plan turns the flags into a run against a server whose address is set later.
func (b *natsCmd) plan() (*loadRun, error) {
	do, known := doing[b.Do]
	body, err := b.body(do)
	switch {
	case !known:
		return nil, usagef("want one of pub, sub, pubsub and request, or --originals, not %q", b.Do)
	case err != nil:
		return nil, usageError(err)
	case b.Subs < 0, b.Subs == 0 && (do == natscodec.Subscribe || do == natscodec.PubSub):
		return nil, usagef("--subs %d: someone has to listen", b.Subs)
	case do == natscodec.Subscribe && (b.Rate != "" || b.Count > 0):
		return nil, usagef("sub publishes nothing: neither --rate nor -n is about it; -d ends it")
	}
	codec := func() *natscodec.Codec {
		n := &natscodec.Codec{
			Do: do, Subject: b.Subject, Queue: b.Queue, Listeners: b.Subs, Bodies: [][]byte{body},
			Every: max(b.Depth/4, 1), Login: natscodec.Login{User: b.User, Pass: b.Pass, Token: b.Token},
		}
		if do == natscodec.Publish {
			n.Listeners = 0
		}
		return n
	}
	first := codec()
	if err := first.Prepare(); err != nil {
		return nil, usageError(err)
	}
	run, err := b.prepare("NATS "+b.Do+" "+b.Subject, load.Plan{Address: "127.0.0.1:0", Codec: first})
	if err != nil {
		return nil, err
	}
	p := &run.plan
	p.Listeners = first.Listeners
	if do == natscodec.PubSub {
		p.Fanout = first.Groups()
	}
	if do == natscodec.Subscribe {
		p.Conns, p.MaxConns = 0, 0
	}
	if err := p.Check(); err != nil {
		return nil, usageError(err)
	}
	run.begin = func(ctx context.Context, p *load.Plan) error {
		return beginNATS(ctx, p, codec())
	}
	run.account = account
	return run, nil
}

// beginNATS gives a run a codec of its own, which the server has let in once.
func beginNATS(ctx context.Context, p *load.Plan, codec *natscodec.Codec) error {
	p.Codec = codec
	if err := codec.Prepare(); err != nil {
		return err
	}
	if err := codec.Probe(ctx, p.Network, p.Address); err != nil {
		return unmeasuredError(err)
	}
	return nil
}

// body returns the payload of each message.
func (b *natsCmd) body(do natscodec.Do) ([]byte, error) {
	switch {
	case b.Payload < 0 || b.Payload > maxMessage:
		return nil, fmt.Errorf("--payload %d: 0 to %d", b.Payload, maxMessage)
	case b.Body != "" && do == natscodec.PubSub:
		return nil, errors.New("--body: messages of pubsub are made, so that each can be verified")
	case b.Body != "":
		return []byte(b.Body), nil
	}
	return bytes.Repeat([]byte{'a'}, b.Payload), nil
}

// server is the one that was named, or one of our own that stop ends.
func (b *natsCmd) server(ctx context.Context, c *Console) (address string, stop func() error, err error) {
	if b.Addr != "" {
		return strings.TrimPrefix(b.Addr, "nats://"), func() error { return nil }, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	var login []string
	for flag, value := range map[string]string{"--user": b.User, "--pass": b.Pass, "--auth": b.Token} {
		if value != "" {
			login = append(login, flag+"="+value)
		}
	}
	s, err := process.StartBus(ctx, self, login...)
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintf(c.Stderr, "no --addr: started a server as process %d on %s\n", s.Pid(), s.Addr())
	return s.Addr(), s.Stop, nil
}

// account reports the fate of the messages. Lost ones and doubled ones are an error.
func account(run *report.Run) error {
	codec := run.Plan.Codec.(*natscodec.Codec)
	if codec.Do != natscodec.PubSub && codec.Do != natscodec.Subscribe {
		return nil
	}
	a := codec.Account()
	text := fmt.Sprintf("%s published, %s delivered, %s lost, %s doubled, %s reordered", figure.Count(a.Published),
		figure.Count(a.Delivered), figure.Count(a.Lost), figure.Count(a.Doubled), figure.Count(a.Reordered))
	if a.Foreign > 0 {
		text += fmt.Sprintf(", %s of another run", figure.Count(a.Foreign))
	}
	run.Document.Facts = append(run.Document.Facts, runfile.Fact{Name: "messages", Text: text})
	messages := runfile.Messages(a)
	run.Document.Messages = &messages
	if a.Lost+a.Doubled > 0 {
		return missedError(fmt.Errorf("%d messages were lost, and %d came twice", a.Lost, a.Doubled))
	}
	return nil
}

// originalsTake are the flags that have a part in --originals.
var originalsTake = []string{"originals", "addr", "user", "pass", "token", "duration", "repeat", "json", "quiet", "log-level", "log-format"}

// checkOriginals refuses the flags of the command line that have no part in --originals.
func (b *natsCmd) checkOriginals(parsed *kong.Context) error {
	if b.Do != "" {
		return fmt.Errorf("--originals are benchmarks of their own: leave out %q", b.Do)
	}
	var others []string
	for _, p := range parsed.Path {
		if p.Flag != nil && !slices.Contains(originalsTake, p.Flag.Name) {
			others = append(others, "--"+p.Flag.Name)
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("--originals takes --addr, --user, --pass, --token, --duration, --repeat and --json, not %s", strings.Join(others, ", "))
	}
	return nil
}

// originals makes the benchmarks of 2012.
func (b *natsCmd) originals(ctx context.Context, c *Console) (err error) {
	length := b.Duration
	if length == 0 {
		length = time.Second
	}
	ctx, release := interruptible(ctx)
	defer release()
	address, stop, err := b.server(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var all struct {
		Rows []*nats2012.Result `json:"rows"`
	}
	if !b.JSON {
		fmt.Fprintf(c.Stdout, "goos: %s\ngoarch: %s\npkg: paddock/lab/internal/persona/nats2012\n", runtime.GOOS, runtime.GOARCH)
	}
	for range max(b.Repeat, 1) {
		for _, row := range slices.Clone(nats2012.Rows) {
			r, err := nats2012.Run(ctx, address, natscodec.Login{User: b.User, Pass: b.Pass, Token: b.Token}, row, length)
			switch {
			case ctx.Err() != nil:
				return interruptedError(errors.New("interrupted"))
			case err != nil:
				return unmeasuredError(err)
			}
			if all.Rows = append(all.Rows, r); b.JSON {
				continue
			}
			if _, err := r.WriteTo(c.Stdout); err != nil {
				return err
			}
		}
	}
	if !b.JSON {
		return nil
	}
	return results.Write(c.Stdout, &all)
}
