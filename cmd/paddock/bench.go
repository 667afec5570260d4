package main

// benchCmd holds the commands that measure.
type benchCmd struct {
	Wire benchWireCmd `cmd:"" help:"Measure the wire protocol, or verify what it carries."`
}
