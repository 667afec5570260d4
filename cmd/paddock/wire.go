package main

// wireCmd is the wire protocol alone. docs/wire/SPEC.md says what is spoken.
type wireCmd struct {
	Dump wireDumpCmd `cmd:"" help:"Show the frames of a captured or a live connection."`
}
