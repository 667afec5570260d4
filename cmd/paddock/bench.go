package main

// benchCmd holds the commands that measure.
type benchCmd struct {
	HTTP      benchHTTPCmd      `cmd:"" name:"http" help:"Measure a service that speaks HTTP."`
	AB        benchABCmd        `cmd:"" name:"ab" passthrough:"" help:"Measure a service over HTTP as ApacheBench does: its flags, its report, and the truth behind it."`
	NATS      benchNATSCmd      `cmd:"" name:"nats" help:"Measure a NATS server, and verify what it delivers."`
	Wrk       benchWrkCmd       `cmd:"" passthrough:"" help:"Measure a service with the flags, scripts and text of wrk, and the truth beside it."`
	Wire      benchWireCmd      `cmd:"" help:"Measure the wire protocol, or verify what it carries."`
	Fence     benchFenceCmd     `cmd:"" help:"Measure look-ups of a fence service: over HTTP, wire or the bus, or by kinds of index."`
	Profile   benchProfileCmd   `cmd:"" help:"Show where the time of \"paddock fence\" goes, as gofence's table does."`
	Tunnel    benchTunnelCmd    `cmd:"" help:"Measure the reverse tunnel with the loads of go-http-tunnel's benchmark."`
	Spike     benchSpikeCmd     `cmd:"" help:"Make the load spike of go-http-tunnel's benchmark on a service."`
	Pressure  benchPressureCmd  `cmd:"" help:"Make the constant pressure of go-http-tunnel's benchmark on a service."`
	Responder benchResponderCmd `cmd:"" help:"Serve HTTP with response times that are known, to hold load generators against."`
}
