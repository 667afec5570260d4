package loadbench

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness/measure"
)

// order is what a generator is to do.
type order struct {
	op       measure.Operation
	url      string
	addr     string // of the service
	bodies   string // a file, one body a line
	script   string // wrk's
	out      string // a directory for files of the run
	conns    int
	rate     int // a second; 0 = closed
	warmup   time.Duration
	duration time.Duration
}

// seconds is the duration for programs that count whole ones.
func (o *order) seconds() string { return strconv.Itoa(int(o.duration / time.Second)) }

func (o *order) connections() string { return strconv.Itoa(o.conns) }

// generator is a program that makes load.
type generator struct {
	// args are its arguments; an error that wraps [errors.ErrUnsupported] says that it
	// does not do what is asked.
	args func(o *order) ([]string, error)
	// read takes what it has counted from what it printed.
	read func(stdout string, m *measure.Measurement) error
}

// others are the generators that are not ours, by peer.
var others = map[string]generator{
	wrkPeer: {wrkArgs, readWrk},
	abPeer:  {abArgs, readAb},
	heyPeer: {heyArgs, readHey},
	ohaPeer: {ohaArgs, readOha},

	natsPeer:  {publishArgs(natsPeer), readPublished},
	bufioPeer: {publishArgs(bufioPeer), readPublished},
}

// cannot says that a program does not do what is asked.
func cannot(program string, op measure.Operation) error {
	return fmt.Errorf("%s does no %s: %w", program, op, errors.ErrUnsupported)
}

// checkAnswers is the error of a run with failures, or without an answer.
func checkAnswers(program string, done, failed int64) error {
	switch {
	case failed > 0:
		return fmt.Errorf("%s: %d of %d requests failed", program, failed, done)
	case done == 0:
		return fmt.Errorf("%s: no request was answered", program)
	}
	return nil
}
