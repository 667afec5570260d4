// Package protocol reads the operations that clients of the NATS protocol send.
package protocol

import (
	"bytes"
	"errors"

	"paddock/bus/internal/subjects"
)

// Handler receives the operations of one connection in order. Slices are
// borrowed until the call returns. An error ends the connection.
type Handler interface {
	OnConnect(options []byte) error
	OnInvalidSubject() // of a PUB whose payload may not have come yet
	OnPublish(p *Publication) error
	OnSubscribe(subject, queue, sid []byte) error
	OnUnsubscribe(sid []byte, limit uint64) error
	OnPing() error
	OnPong() error
	OnInfo(options []byte) error
}

// Publication is a PUB or HPUB. The header block is Payload[:Header].
type Publication struct {
	Subject, Reply []byte
	Payload        []byte
	Header         int // bytes; 0 for PUB
	// Exact is "[reply ]sizes\r\n", the payload and "\r\n" in one piece, if they
	// came so: with one space between, and no leading zeros.
	Exact []byte
}

// parserState is the part of the protocol to which the next byte belongs.
type parserState uint8

const (
	inLine    parserState = iota // an operation's line
	inPayload                    // a publication's bytes and their CRLF
	inSkip                       // the ignored rest of a line
)

const (
	// maxSizeDigits keeps a size within an int32, leading zeros included.
	maxSizeDigits = 9
	// keptPayload is the largest carry-over buffer that outlives its message.
	keptPayload = 64 << 10

	crlf = "\r\n"
)

// The errors that end a connection. The server has the texts that clients are sent.
var (
	ErrUnknownOperation = errors.New("unknown operation")
	ErrArguments        = errors.New("malformed arguments")
	ErrControlLine      = errors.New("control line too long")
	ErrPayload          = errors.New("payload too large")
	ErrConnectFirst     = errors.New("operation before CONNECT")
	ErrClientError      = errors.New("the client sent -ERR")
)

// Parser turns bytes into operations. It is pure: no I/O, no clock, and the operations do not
// depend on how the bytes were split. It carries from one feed to the next at most one line of
// MaxLine bytes of arguments and one payload of MaxPayload bytes, and no memory is taken for bytes
// that have not come.
type Parser struct {
	MaxLine    int  // bytes of arguments
	MaxPayload int  // bytes, header included
	Headers    bool // HPUB is allowed; set by the handler at CONNECT
	MustAuth   bool // only CONNECT is allowed; cleared by the handler
	Pedantic   bool // published subjects are checked; set by the handler at CONNECT

	state   parserState
	skipped opcode
	line    []byte // carry-over of a split line
	payload []byte // carry-over of a split payload
	args    []byte // carry-over of a split publication's subject and reply
	pub     Publication
	size    int    // bytes of pub's payload
	sizes   []byte // as they came, if with leading zeros; else empty
	// Written is the message with the sizes as received, when they have leading zeros and pub.Exact
	// cannot be used. It is empty otherwise, and valid during OnPublish.
	Written []byte
}

// Feed handles buf to its end, or to the first error, after which the parser
// must not be used again.
func (p *Parser) Feed(buf []byte, h Handler) (err error) {
	for len(buf) > 0 && err == nil {
		switch p.state {
		case inLine:
			if len(p.line) == 0 && !p.MustAuth && !p.Pedantic {
				var n int
				if n, err = p.quick(buf, h); n > 0 {
					buf = buf[n:]
					continue
				}
			}
			buf, err = p.feedLine(buf, h)
		case inPayload:
			buf, err = p.feedPayload(buf, h)
		case inSkip:
			buf, err = p.feedSkip(buf, h)
		}
	}
	if p.state == inPayload && len(p.payload) == 0 {
		p.keepArguments() // the caller will reuse buf
	}
	return err
}

// DemandsConnect reports whether buf, which is not empty, begins an operation that is not allowed
// because it is not a CONNECT.
func (p *Parser) DemandsConnect(buf []byte) bool {
	return p.MustAuth && len(p.line) == 0 && upper(buf[0]) != 'C'
}

func (p *Parser) feedLine(buf []byte, h Handler) ([]byte, error) {
	if p.DemandsConnect(buf) {
		return nil, ErrConnectFirst
	}
	end := bytes.IndexByte(buf, '\n')
	if end < 0 {
		return nil, p.carryLine(buf)
	}
	line, rest := buf[:end], buf[end+1:]
	if len(p.line) > 0 {
		p.line = append(p.line, line...)
		line, p.line = p.line, p.line[:0]
	}
	return rest, p.operation(line, h)
}

// carryLine keeps the beginning of a line, unless it is already known to be
// wrong or to need no keeping.
func (p *Parser) carryLine(buf []byte) error {
	p.line = append(p.line, buf...)
	op, rest, found := lookup(p.line)
	switch {
	case found == notAnOp:
		return ErrUnknownOperation
	case found == partOfOp:
		return nil
	case op.ignoresRest():
		p.state, p.skipped, p.line = inSkip, op, p.line[:0]
		return nil
	}
	args := arguments(rest)
	if len(args) == 0 && len(rest) > 0 {
		p.line = p.line[:len(p.line)-len(rest)+1] // one blank stands for all
	}
	return p.checkLine(args)
}

func (p *Parser) feedSkip(buf []byte, h Handler) ([]byte, error) {
	end := bytes.IndexByte(buf, '\n')
	if end < 0 {
		return nil, nil
	}
	p.state = inLine
	return buf[end+1:], p.plain(p.skipped, h)
}

// operation handles one whole line without its line feed.
func (p *Parser) operation(line []byte, h Handler) error {
	op, rest, found := lookup(line)
	if found != wholeOp {
		return ErrUnknownOperation
	}
	if op.ignoresRest() {
		return p.plain(op, h)
	}
	args := arguments(rest)
	if len(args) == 0 {
		// A line does not end before its arguments: the line feed is their first byte.
		p.line = append(append(p.line[:0], line...), '\n')
		return nil
	}
	if err := p.checkLine(args); err != nil {
		return err
	}
	switch op {
	case opPub, opHPub:
		return p.publish(op, args, h)
	case opSub:
		return p.subscribe(args, h)
	case opUnsub:
		return p.unsubscribe(args, h)
	case opConnect:
		return h.OnConnect(args)
	case opInfo:
		return h.OnInfo(args)
	default: // opErr
		return ErrClientError
	}
}

// arguments returns the line after an opcode, from the first byte that is not blank. A CR anywhere
// behind that byte costs the last byte, which is the CR itself where a line ends in CRLF.
func arguments(rest []byte) []byte {
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		rest = rest[1:]
	}
	if len(rest) > 1 && bytes.IndexByte(rest[1:], '\r') >= 0 {
		return rest[:len(rest)-1]
	}
	return rest
}

func (p *Parser) plain(op opcode, h Handler) error {
	switch op {
	case opPing:
		return h.OnPing()
	case opPong:
		return h.OnPong()
	default: // opOK
		return nil
	}
}

// checkLine bounds the arguments, also of a line that is not complete: they get no shorter.
func (p *Parser) checkLine(args []byte) error {
	if len(args) > p.MaxLine {
		return ErrControlLine
	}
	return nil
}

// publish reads `subject [reply] size` or `subject [reply] header total`, and refuses too large a
// message already on the line. It refuses a CR or LF too: subscribers would take it for a separator
// or for the line's end, and the rest for another subject than the one that was judged.
func (p *Parser) publish(op opcode, line []byte, h Handler) error {
	if bytes.ContainsAny(line, crlf) {
		return ErrArguments
	}
	sizes := 1
	if op == opHPub {
		if !p.Headers {
			return ErrArguments
		}
		sizes = 2
	}
	var store [5][]byte
	args := fields(line, store[:0], false)
	if len(args) != sizes+1 && len(args) != sizes+2 {
		return ErrArguments
	}
	last := args[len(args)-1]
	total, ok := ParseSize(last)
	if !ok {
		return ErrArguments
	}
	header, zeros := 0, last[0] == '0' && len(last) > 1
	if op == opHPub {
		first := args[len(args)-2]
		if header, ok = ParseSize(first); !ok || header > total {
			return ErrArguments
		}
		zeros = zeros || first[0] == '0' && len(first) > 1
	}
	if total > p.MaxPayload {
		return ErrPayload
	}
	p.pub = Publication{Subject: args[0], Header: header}
	if len(args) == sizes+2 {
		p.pub.Reply = args[1]
	}
	p.size, p.state, p.sizes = total, inPayload, p.sizes[:0]
	if zeros {
		if header > 0 {
			p.sizes = append(append(p.sizes, args[len(args)-2]...), ' ')
		}
		p.sizes = append(p.sizes, last...)
	}
	if p.Pedantic && !subjects.WellFormed(p.pub.Subject) {
		h.OnInvalidSubject()
	}
	return nil
}

func (p *Parser) feedPayload(buf []byte, h Handler) ([]byte, error) {
	whole := p.size + len(crlf)
	if len(p.payload) == 0 && len(buf) >= whole {
		return buf[whole:], p.deliver(buf[:whole], h)
	}
	if len(p.payload) == 0 {
		p.keepArguments()
	}
	n := min(whole-len(p.payload), len(buf))
	p.payload = append(p.payload, buf[:n]...)
	if len(p.payload) == whole {
		err := p.deliver(p.payload, h)
		if p.payload = p.payload[:0]; cap(p.payload) > keptPayload {
			p.payload = nil
		}
		return buf[n:], err
	}
	if len(p.payload) > p.size && p.payload[p.size] != '\r' {
		return nil, ErrUnknownOperation
	}
	return nil, nil
}

// deliver hands over a publication whose payload and line end are data.
func (p *Parser) deliver(data []byte, h Handler) error {
	if string(data[p.size:]) != crlf {
		return ErrUnknownOperation
	}
	p.state = inLine
	p.pub.Payload = data[:p.size]
	if len(p.sizes) == 0 {
		return h.OnPublish(&p.pub)
	}
	p.Written = append(append(AppendReply(p.Written, p.pub.Reply), p.sizes...), crlf...)
	p.Written = append(p.Written, data...)
	err := h.OnPublish(&p.pub)
	if p.Written = p.Written[:0]; cap(p.Written) > keptPayload {
		p.Written = nil
	}
	return err
}

// keepArguments copies arguments that still point into the caller's buffer.
func (p *Parser) keepArguments() {
	n := len(p.pub.Subject)
	p.args = append(append(p.args[:0], p.pub.Subject...), p.pub.Reply...)
	p.pub.Subject, p.pub.Reply = p.args[:n:n], p.args[n:]
}

func (p *Parser) subscribe(line []byte, h Handler) error {
	var store [4][]byte
	switch args := fields(line, store[:0], true); len(args) {
	case 2:
		return h.OnSubscribe(args[0], nil, args[1])
	case 3:
		return h.OnSubscribe(args[0], args[1], args[2])
	default:
		return ErrArguments
	}
}

// unsubscribe reads `sid [max]`; a max that is no number counts as none.
func (p *Parser) unsubscribe(line []byte, h Handler) error {
	var store [3][]byte
	switch args := fields(line, store[:0], true); len(args) {
	case 1:
		return h.OnUnsubscribe(args[0], 0)
	case 2:
		limit, _ := ParseSize(args[1])
		return h.OnUnsubscribe(args[0], uint64(limit))
	default:
		return ErrArguments
	}
}

// fields splits at runs of space and tab, and with lineEnds of CR and LF, into dst, whose capacity
// is one more than the longest legal list, so that too long a list is noticed.
func fields(s []byte, dst [][]byte, lineEnds bool) [][]byte {
	start := -1
	for i, b := range s {
		blank := b == ' ' || b == '\t' || lineEnds && (b == '\r' || b == '\n')
		switch {
		case blank && start >= 0:
			if dst = append(dst, s[start:i:i]); len(dst) == cap(dst) {
				return dst
			}
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	if start >= 0 {
		dst = append(dst, s[start:len(s):len(s)])
	}
	return dst
}

// ParseSize reads a number of decimal digits. It accepts neither a sign nor more than nine digits.
func ParseSize(s []byte) (n int, ok bool) {
	if len(s) == 0 || len(s) > maxSizeDigits {
		return 0, false
	}
	for _, b := range s {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int(b-'0')
	}
	return n, true
}

// AppendReply appends the reply subject of a publication, and the space behind it, if there is one.
func AppendReply(dst, reply []byte) []byte {
	if len(reply) == 0 {
		return dst
	}
	return append(append(dst, reply...), ' ')
}
