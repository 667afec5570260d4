package protocol

// opcode is an operation that a client may send.
type opcode uint8

const (
	opPub opcode = iota
	opHPub
	opSub
	opUnsub
	opPing
	opPong
	opConnect
	opInfo
	opOK
	opErr
)

// opNames holds the operations the most frequent first. blank = a space or tab must follow.
var opNames = [...]struct {
	name  string
	blank bool
}{
	opPub:     {"PUB", true},
	opHPub:    {"HPUB", true},
	opSub:     {"SUB", true},
	opUnsub:   {"UNSUB", true},
	opPing:    {"PING", false},
	opPong:    {"PONG", false},
	opConnect: {"CONNECT", false}, // CONNECT{ is accepted
	opInfo:    {"INFO", false},
	opOK:      {"+OK", false},
	opErr:     {"-ERR", true},
}

func (op opcode) ignoresRest() bool { return op == opPing || op == opPong || op == opOK }

type lookupResult uint8

const (
	notAnOp  lookupResult = iota
	partOfOp              // line is a proper beginning of an operation
	wholeOp
)

// lookup finds the operation that line begins with, in any case; rest is the line after its name.
func lookup(line []byte) (op opcode, rest []byte, found lookupResult) {
	for i := range opNames {
		n := matchingPrefix(line, opNames[i].name)
		switch {
		case n == len(opNames[i].name):
			rest = line[n:]
			if !opNames[i].blank || len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
				return opcode(i), rest, wholeOp
			}
			if len(rest) > 0 {
				return 0, nil, notAnOp
			}
			return 0, nil, partOfOp
		case n == len(line):
			return 0, nil, partOfOp
		}
	}
	return 0, nil, notAnOp
}

// matchingPrefix counts the leading bytes of line that spell name.
func matchingPrefix(line []byte, name string) int {
	n := min(len(line), len(name))
	for i := range n {
		if upper(line[i]) != name[i] {
			return i
		}
	}
	return n
}

func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - ('a' - 'A')
	}
	return b
}

// Continues reports whether an operation's line does not end at its line feed: to the parser that
// is the first byte of arguments that have not come.
func Continues(line []byte) bool {
	op, rest, found := lookup(line)
	return found == wholeOp && !op.ignoresRest() && len(arguments(rest)) == 0
}
