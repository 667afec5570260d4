package bus

import (
	"bytes"

	"paddock/bus/internal/subjects"
)

// handler receives the operations of one connection in order. Slices are
// borrowed until the call returns. An error ends the connection.
type handler interface {
	onConnect(options []byte) error
	onInvalidSubject() // of a PUB whose payload may not have come yet
	onPublish(p *publication) error
	onSubscribe(subject, queue, sid []byte) error
	onUnsubscribe(sid []byte, limit uint64) error
	onPing() error
	onPong() error
	onInfo(options []byte) error
}

// publication is a PUB or HPUB. The header block is payload[:header].
type publication struct {
	subject, reply []byte
	payload        []byte
	header         int // bytes; 0 for PUB
	// exact is "[reply ]sizes\r\n", the payload and "\r\n" in one piece, if they
	// came so: with one space between, and no leading zeros.
	exact []byte
}

// parserState says what the next byte belongs to.
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
	crlf        = "\r\n"
)

// parser turns bytes into operations. It is pure: no I/O, no clock, and the
// operations do not depend on how the bytes were split. What it carries from
// one feed to the next is at most one line of maxLine bytes of arguments and
// one payload of maxPayload bytes, and no memory is taken for bytes that have
// not come.
type parser struct {
	maxLine    int  // bytes of arguments
	maxPayload int  // bytes, header included
	headers    bool // HPUB is allowed; set by the handler at CONNECT
	mustAuth   bool // only CONNECT is allowed; cleared by the handler
	pedantic   bool // published subjects are checked; set by the handler at CONNECT

	state   parserState
	skipped opcode
	line    []byte // carry-over of a split line
	payload []byte // carry-over of a split payload
	args    []byte // carry-over of a split publication's subject and reply
	pub     publication
	size    int    // bytes of pub's payload
	sizes   []byte // as they came, if with leading zeros; else empty
	// written is what pub.exact cannot be, with sizes as they came: with leading
	// zeros they go out. It is empty otherwise, and valid during onPublish.
	written []byte
}

// feed handles buf to its end, or to the first error, after which the parser
// must not be used again.
func (p *parser) feed(buf []byte, h handler) (err error) {
	for len(buf) > 0 && err == nil {
		switch p.state {
		case inLine:
			if len(p.line) == 0 && !p.mustAuth && !p.pedantic {
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

func (p *parser) feedLine(buf []byte, h handler) ([]byte, error) {
	if p.mustAuth && len(p.line) == 0 && upper(buf[0]) != 'C' {
		return nil, errAuthorization
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
func (p *parser) carryLine(buf []byte) error {
	p.line = append(p.line, buf...)
	op, rest, found := lookup(p.line)
	switch {
	case found == notAnOp:
		return errUnknownOp
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

func (p *parser) feedSkip(buf []byte, h handler) ([]byte, error) {
	end := bytes.IndexByte(buf, '\n')
	if end < 0 {
		return nil, nil
	}
	p.state = inLine
	return buf[end+1:], p.plain(p.skipped, h)
}

// operation handles one whole line without its line feed.
func (p *parser) operation(line []byte, h handler) error {
	op, rest, found := lookup(line)
	if found != wholeOp {
		return errUnknownOp
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
		return h.onConnect(args)
	case opInfo:
		return h.onInfo(args)
	default: // opErr
		return errClientErr
	}
}

// arguments are what follows an opcode, from the first byte that is not blank on.
// A CR anywhere behind that byte costs the last byte, which is the CR itself
// where a line ends in CRLF.
func arguments(rest []byte) []byte {
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		rest = rest[1:]
	}
	if len(rest) > 1 && bytes.IndexByte(rest[1:], '\r') >= 0 {
		return rest[:len(rest)-1]
	}
	return rest
}

func (p *parser) plain(op opcode, h handler) error {
	switch op {
	case opPing:
		return h.onPing()
	case opPong:
		return h.onPong()
	default: // opOK
		return nil
	}
}

// checkLine bounds the arguments, those of a line that is not complete too: they
// get no shorter.
func (p *parser) checkLine(args []byte) error {
	if len(args) > p.maxLine {
		return errControlLine
	}
	return nil
}

// publish reads `subject [reply] size` or `subject [reply] header total`, and
// refuses on the line what would be too large.
func (p *parser) publish(op opcode, line []byte, h handler) error {
	sizes := 1
	if op == opHPub {
		if !p.headers {
			return errArguments
		}
		sizes = 2
	}
	var store [5][]byte
	args := fields(line, store[:0], false)
	if len(args) != sizes+1 && len(args) != sizes+2 {
		return errArguments
	}
	last := args[len(args)-1]
	total, ok := parseSize(last)
	if !ok {
		return errArguments
	}
	header, zeros := 0, last[0] == '0' && len(last) > 1
	if op == opHPub {
		first := args[len(args)-2]
		if header, ok = parseSize(first); !ok || header > total {
			return errArguments
		}
		zeros = zeros || first[0] == '0' && len(first) > 1
	}
	if total > p.maxPayload {
		return errPayload
	}
	p.pub = publication{subject: args[0], header: header}
	if len(args) == sizes+2 {
		p.pub.reply = args[1]
	}
	p.size, p.state, p.sizes = total, inPayload, p.sizes[:0]
	if zeros {
		if header > 0 {
			p.sizes = append(append(p.sizes, args[len(args)-2]...), ' ')
		}
		p.sizes = append(p.sizes, last...)
	}
	if p.pedantic && !subjects.WellFormed(p.pub.subject) {
		h.onInvalidSubject()
	}
	return nil
}

func (p *parser) feedPayload(buf []byte, h handler) ([]byte, error) {
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
		return nil, errUnknownOp
	}
	return nil, nil
}

// deliver hands over a publication whose payload and line end are data.
func (p *parser) deliver(data []byte, h handler) error {
	if string(data[p.size:]) != crlf {
		return errUnknownOp
	}
	p.state = inLine
	p.pub.payload = data[:p.size]
	if len(p.sizes) == 0 {
		return h.onPublish(&p.pub)
	}
	p.written = append(append(appendReply(p.written, p.pub.reply), p.sizes...), crlf...)
	p.written = append(p.written, data...)
	err := h.onPublish(&p.pub)
	if p.written = p.written[:0]; cap(p.written) > keptPayload {
		p.written = nil
	}
	return err
}

// keepArguments copies what still points into the caller's buffer.
func (p *parser) keepArguments() {
	n := len(p.pub.subject)
	p.args = append(append(p.args[:0], p.pub.subject...), p.pub.reply...)
	p.pub.subject, p.pub.reply = p.args[:n:n], p.args[n:]
}

func (p *parser) subscribe(line []byte, h handler) error {
	var store [4][]byte
	switch args := fields(line, store[:0], true); len(args) {
	case 2:
		return h.onSubscribe(args[0], nil, args[1])
	case 3:
		return h.onSubscribe(args[0], args[1], args[2])
	default:
		return errArguments
	}
}

// unsubscribe reads `sid [max]`; a max that is no number counts as none.
func (p *parser) unsubscribe(line []byte, h handler) error {
	var store [3][]byte
	switch args := fields(line, store[:0], true); len(args) {
	case 1:
		return h.onUnsubscribe(args[0], 0)
	case 2:
		limit, _ := parseSize(args[1])
		return h.onUnsubscribe(args[0], uint64(limit))
	default:
		return errArguments
	}
}

// fields splits at runs of space and tab, and of CR and LF if lineEnds says so,
// into dst, whose capacity is one more than the longest legal list: what is too
// long stays too long.
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

// parseSize reads decimal digits only.
func parseSize(s []byte) (n int, ok bool) {
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
