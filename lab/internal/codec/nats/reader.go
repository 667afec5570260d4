package nats

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"paddock/load"
)

// maxLine bounds a line of the server's, in bytes: INFO is the longest.
const maxLine = 64 << 10

// Kind is the kind of a server's operation.
type Kind uint8

// The kinds of operations.
const (
	KindNone Kind = iota // there is not all of it
	KindInfo
	KindMessage
	KindPing
	KindPong
	KindOK
	KindErr
)

// Operation is one operation of the server. It refers to the read buffer.
type Operation struct {
	Kind Kind
	Text []byte // of INFO and -ERR

	// Of a message that was delivered.
	Subject, Reply []byte
	Header         []byte // with the empty line; nil = none
	Payload        []byte // or its beginning
	Size           int    // of the payload
	Rest           int    // bytes of the message that have not come
}

var crlf = []byte("\r\n")

// Next takes one operation from the front of in; n is how long it is, and KindNone with 0
// means that more has to come. Of a message that is long it needs only the beginning, with
// StampSize bytes of payload: Rest tells how much is to be skipped behind.
func Next(in []byte) (op Operation, n int, err error) {
	end := bytes.IndexByte(in, '\n')
	if end < 0 {
		if len(in) > maxLine {
			return op, 0, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		return op, 0, nil
	}
	line := in[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	n = end + 1
	if len(line) >= 4 && line[3] == ' ' && upper(line[0]) == 'M' {
		return takeMessage(line[4:], in[n:], n, false)
	}
	word, args, _ := bytes.Cut(line, []byte(" "))
	switch string(bytes.ToUpper(word)) {
	case "HMSG":
		return takeMessage(args, in[n:], n, true)
	case "PING":
		op.Kind = KindPing
	case "PONG":
		op.Kind = KindPong
	case "+OK":
		op.Kind = KindOK
	case "-ERR":
		op.Kind, op.Text = KindErr, bytes.Trim(args, " '")
	case "INFO":
		op.Kind, op.Text = KindInfo, args
	default:
		return op, 0, fmt.Errorf("a line that begins with %.20q", line)
	}
	return op, n, nil
}

func upper(b byte) byte { return b &^ 0x20 }

var errMessage = errors.New("a message whose line is not as it should be")

// takeMessage parses MSG subject sid [reply] size, or HMSG with the size of the header before that.
// in holds the bytes behind the line, of at bytes.
//
// hot: BenchmarkDeliveries, TestReaderDoesNotAllocate.
func takeMessage(line, in []byte, at int, headers bool) (op Operation, n int, err error) {
	var fields [5][]byte
	k := 0
	for len(line) > 0 && k < len(fields) {
		word := line
		if i := bytes.IndexByte(line, ' '); i >= 0 {
			word, line = line[:i], line[i+1:]
		} else {
			line = nil
		}
		if len(word) > 0 {
			fields[k] = word
			k++
		}
	}
	least := 3
	if headers {
		least = 4
	}
	if k < least || k > least+1 || len(line) > 0 {
		return op, 0, errMessage
	}
	op.Kind, op.Subject = KindMessage, fields[0]
	if k > least {
		op.Reply = fields[2]
	}
	total, ok := number(fields[k-1])
	head := 0
	if ok && headers {
		head, ok = number(fields[k-2])
	}
	if !ok || head > total {
		return op, 0, errMessage
	}
	op.Size = total - head
	whole := total + len(crlf)
	if len(in) < min(whole, head+StampSize) {
		return Operation{}, 0, nil
	}
	here := min(len(in), whole)
	if headers {
		op.Header = in[:head]
	}
	op.Payload = in[head:min(here, total)]
	op.Rest = whole - here
	if op.Rest == 0 && !bytes.Equal(in[total:whole], crlf) {
		return op, 0, errors.New("a message that does not end where it should")
	}
	return op, at + here, nil
}

// maxMessage bounds the size of a message, in bytes.
const maxMessage = 1 << 30

// number reads a size.
func number(b []byte) (n int, ok bool) {
	if len(b) == 0 || len(b) > 10 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n <= maxMessage
}

// statusOf returns the status in the first line of a message's header, as 503 for a request without
// a service, or a service's own; 0 = none.
func statusOf(header []byte) uint16 {
	if len(header) == 0 {
		return 0
	}
	first, fields, _ := bytes.Cut(header, crlf)
	if _, status, found := bytes.Cut(first, []byte(" ")); found {
		return status3(status)
	}
	const name = "Nats-Service-Error-Code:"
	if i := bytes.Index(fields, []byte(name)); i >= 0 {
		return status3(bytes.TrimSpace(fields[i+len(name):]))
	}
	return 0
}

// status3 reads three digits at the front of b.
func status3(b []byte) uint16 {
	n, err := strconv.ParseUint(string(b[:min(len(b), 3)]), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// broken is an error of the server's bytes.
func broken(err error) error { return &load.Failed{Class: load.ClassParse, Err: err} }
