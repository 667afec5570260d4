package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	wirecodec "paddock/lab/internal/codec/wire"
	"paddock/lab/perf"
	"paddock/lab/process"
	"paddock/load"
	"paddock/wire"
)

// callTime is how long a request may take where nothing is said.
const callTime = 30 * time.Second

// byLoad reports whether the load is package load's: a flag says so that gofast's perf did
// not have.
func (b *wireCmd) byLoad() bool {
	return b.Rate != "" || b.Duration > 0 || b.loadFlags.Count > 0 || b.SLO != "" || b.Out != "" || b.Warmup > 0 || b.Repeat > 1 || b.Engine != "auto"
}

// makeLoad makes the load that the flags describe, and reports the result.
func (b *wireCmd) makeLoad(ctx context.Context, c *Console) (err error) {
	codec, err := b.codec()
	if err != nil {
		return usageError(err)
	}
	flags := b.loadFlags
	flags.Timeout = cmp.Or(flags.Timeout, callTime)
	run, err := flags.prepare("wire "+string(b.Do), load.Plan{Address: "127.0.0.1:0", Codec: codec})
	if err != nil {
		return err
	}
	target, stop, err := b.target(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	p := &run.plan
	p.Network, p.Address, p.TLS = target.Network, target.Addr, wirecodec.Secure(target.TLS, target.Addr)
	if err := p.Check(); err != nil {
		return usageError(err)
	}
	run.begin = func(ctx context.Context, p *load.Plan) (err error) {
		return enter(ctx, p, codec, perf.TokenID, b.Token, func(ctx context.Context, conn *wire.Conn) error {
			_, err := conn.Call(ctx, perf.KindRequest, nil)
			return err
		})
	}
	stopProfile, err := process.Profile(b.Profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	return run.run(ctx, c)
}

// codec returns the codec for the flags.
func (b *wireCmd) codec() (*wirecodec.Codec, error) {
	o := b.options()
	o.Timeout = 0 // which any request may have here
	if err := o.Check(); err != nil {
		return nil, err
	}
	defaults := perf.DefaultOptions()
	switch {
	case o.Count != defaults.Count || o.Routines != defaults.Routines || o.Batch != defaults.Batch || o.Sample != defaults.Sample:
		return nil, errors.New("--count, --routines, --batchsize and --sample are about runs by --count; -n, -c and --depth go with --rate and -d")
	case b.Floor || b.Reconnect || b.Session != "" || b.Journal != "":
		return nil, errors.New("--floor, --reconnect, --session and --journal are about runs by --count")
	}
	codec := &wirecodec.Codec{Bodies: [][]byte{bytes.Repeat([]byte{'a'}, o.Payload)}, Messages: o.Stream, Depth: b.Depth}
	switch o.Do {
	case perf.Post:
		codec.Do, codec.Kind = wirecodec.Post, perf.KindPost
	case perf.Request:
		codec.Do, codec.Kind = wirecodec.Request, perf.KindRequest
	case perf.StreamTx:
		codec.Do, codec.Kind = wirecodec.Stream, perf.KindStreamTx
	default:
		return nil, errors.New("--do " + string(o.Do) + " is about runs by --count; there are post, request and streamtx with --rate and -d")
	}
	return codec, codec.Check()
}

// enter has the codec prove a token, if there is one, and makes sure that the server lets us in and
// answers: its HELLO does not say that it likes ours.
func enter(ctx context.Context, p *load.Plan, codec *wirecodec.Codec, id, token string, ask func(context.Context, *wire.Conn) error) (err error) {
	config := &wire.Config{TLS: p.TLS}
	if token != "" {
		config.Auth = wire.TokenAuth(id, []byte(token))
		if p.TLS != nil {
			codec.Prove = config.Auth
		} else if codec.Login, err = wirecodec.TokenLogin(p.Network, p.Address, id, token); err != nil {
			return unmeasuredError(err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, serverStart)
	defer cancel()
	conn, err := wire.Dial(ctx, p.Network, p.Address, config)
	if err == nil {
		err = errors.Join(ask(ctx, conn), conn.Close())
	}
	if err != nil {
		return unmeasuredError(err)
	}
	return nil
}
