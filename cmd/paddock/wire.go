package main

import (
	"bufio"
	"errors"
	"fmt"

	"paddock/lab/perf"
)

// wireCmd holds the commands about the wire protocol alone.
type wireCmd struct {
	Serve   wireServeCmd   `cmd:"" help:"Serve what \"paddock bench wire\" measures."`
	Dump    wireDumpCmd    `cmd:"" help:"Show the frames of a captured or a live connection."`
	Journal wireJournalCmd `cmd:"" help:"Show the acknowledged posts that a journal holds."`
}

// wireJournalCmd prints a journal of the perf server or of a verifying run.
type wireJournalCmd struct {
	File string `arg:"" type:"path" help:"File that \"paddock wire serve --journal\" or \"paddock bench wire --journal\" has written."`
}

// Help describes the columns.
func (*wireJournalCmd) Help() string {
	return `One line for each acknowledged post: session, its epoch, index of the connection in it, number, CRC-32C of the body. It is a failure if a post is there twice. The file is only read, also while a server writes it.`
}

// Run prints the records in the order of the file.
func (j *wireJournalCmd) Run(c *console) (err error) {
	out := bufio.NewWriter(c.Stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	var numbers perf.Numbers
	var twice []perf.Acked
	for record, err := range perf.ReadJournal(j.File) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, record); err != nil {
			return err
		}
		if numbers.Add(record) {
			twice = append(twice, record)
		}
	}
	if len(twice) > 0 {
		return fmt.Errorf("%s: %d posts are there twice, first %v", j.File, len(twice), twice[0])
	}
	return nil
}
