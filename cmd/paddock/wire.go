package main

// wireCmd is the wire protocol alone. docs/wire/SPEC.md says what is spoken.
type wireCmd struct {
	Serve   wireServeCmd   `cmd:"" help:"Serve what \"paddock bench wire\" measures."`
	Dump    wireDumpCmd    `cmd:"" help:"Show the frames of a captured or a live connection."`
	Journal wireJournalCmd `cmd:"" help:"Show the acknowledged posts that a journal holds."`
}
