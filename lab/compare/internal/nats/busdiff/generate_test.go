package busdiff

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// generator makes scripts from a grammar of the protocol and of the mistakes that
// clients make in it. Scripts of one connection may hold any mistake; in those of
// several, most operations are complete, since the others wait for a sync.
type generator struct {
	*rand.Rand
	setting *Setting
	conns   []*conn
	unique  int
}

// conn is the generator's state of one connection.
type conn struct {
	id   int
	sids []string
	rude bool // it may break off anywhere
}

// Generate returns the script with the given number of a seed: the same for ever.
func Generate(seed, number uint64, settings []Setting) Script {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number))}
	g.setting = &settings[g.IntN(len(settings))]
	s := Script{Setting: g.setting.Name}
	n := 1 + g.pick(5, 3, 2)
	for i := range n {
		g.conns = append(g.conns, &conn{id: i, rude: n == 1 && g.one(2)})
	}
	steps := 1 + g.IntN(4)
	if n > 1 {
		steps += 1 + g.IntN(5)
	}
	for i := range steps {
		c := g.conns[g.IntN(n)]
		if i < n {
			c = g.conns[i]
		}
		g.turn(&s, c, i < n)
	}
	return s
}

// turn is one connection's bytes between two syncs.
func (g *generator) turn(s *Script, c *conn, first bool) {
	var b []byte
	if first && (!g.one(6) || g.setting.auth() && !g.one(12)) {
		b = append(b, g.connect()...)
	}
	for range 1 + g.IntN(8) {
		b = append(b, g.operation(c)...)
	}
	if c.rude {
		b = g.spoil(b)
	}
	s.Steps = append(s.Steps, g.cut(c.id, b)...)
	if !c.rude {
		s.Steps = append(s.Steps, Step{Conn: c.id})
	}
}

// cut makes writes of b.
func (g *generator) cut(id int, b []byte) (steps []Step) {
	pieces := 1 + g.pick(4, 2, 2, 1, 1)
	for ; pieces > 1 && len(b) > 1; pieces-- {
		n := 1 + g.IntN(len(b)-1)
		steps = append(steps, Step{Conn: id, Data: b[:n:n]})
		b = b[n:]
	}
	if len(b) > 0 {
		steps = append(steps, Step{Conn: id, Data: b})
	}
	return steps
}

// spoil changes a few bytes.
func (g *generator) spoil(b []byte) []byte {
	if g.one(2) {
		return b
	}
	for range 1 + g.IntN(3) {
		if len(b) == 0 {
			break
		}
		at := g.IntN(len(b))
		switch g.IntN(5) {
		case 0:
			b = append(b[:at:at], b[at+1:]...)
		case 1:
			b[at] = g.byteOf(" \t\r\n\x00:+-*>.0aPpU\xff")
		case 2:
			b = append(b[:at:at], append([]byte{g.byteOf(" \t\r\n.09")}, b[at:]...)...)
		case 3:
			b = b[:at]
		case 4:
			end := min(at+1+g.IntN(12), len(b))
			b = append(b[:end:end], b[at:]...) // said twice
		}
	}
	return b
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

// pick returns an index with the given weights.
func (g *generator) pick(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := g.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

func (g *generator) from(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) byteOf(list string) byte { return list[g.IntN(len(list))] }

// blank stands between arguments.
func (g *generator) blank() string {
	if !g.one(12) {
		return " "
	}
	return g.from("  ", "\t", " \t ", "\t\t", "   ")
}

func (g *generator) lineEnd() string {
	switch g.pick(60, 8, 1, 1, 1) {
	case 0:
		return crlf
	case 1:
		return "\n"
	case 2:
		return " \r\n"
	case 3:
		return "\t\n"
	default:
		return g.from("\r\r\n", "\r \n", " \r\r\n")
	}
}

// spell writes an opcode in some case.
func (g *generator) spell(op string) string {
	if !g.one(10) {
		return op
	}
	b := []byte(op)
	for i := range b {
		if 'A' <= b[i] && b[i] <= 'Z' && g.one(2) {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// line is an operation's line.
func (g *generator) line(op string, args ...string) string {
	var b strings.Builder
	b.WriteString(g.spell(op))
	for _, arg := range args {
		b.WriteString(g.blank() + arg)
	}
	if g.one(40) {
		b.WriteString(strings.Repeat(" ", g.IntN(60))) // towards the control line's bound
	}
	return b.String() + g.lineEnd()
}

func (g *generator) operation(c *conn) string {
	switch g.pick(40, 14, 26, 10, 8, 2, 2, 1, 1, 1, 3) {
	case 0:
		return g.publish(c, false)
	case 1:
		return g.publish(c, true)
	case 2:
		return g.subscribe(c)
	case 3:
		return g.unsubscribe(c)
	case 4:
		return g.line("PING", g.rest()...)
	case 5:
		return g.line("PONG", g.rest()...)
	case 6:
		return g.line("+OK", g.rest()...)
	case 7:
		return g.line("INFO", g.json("{}", `{"server_id":"x","proto":1}`, "[]", "3", "null"))
	case 8:
		if g.one(2) {
			return g.line("-ERR", g.from("'oops'", "", "'Stale Connection'"))
		}
		return g.connect()
	case 9:
		return g.connect()
	default:
		return g.nonsense()
	}
}

func (g *generator) rest() []string {
	if g.one(6) {
		return []string{g.from("x", "me now", strings.Repeat("y", g.IntN(200)), "{}")}
	}
	return nil
}

// nonsense closes, mostly.
func (g *generator) nonsense() string {
	if !g.one(4) {
		return ""
	}
	return g.from(
		"\r\n", "\n", " \r\n", "FOO\r\n", "PUB\r\n", "PUB \r\n", "PUB", "PUBX a 1\r\n", "SUB\r\n", "SUB \r\n", "SUB\t\n", "UNSUB\r\n",
		"UNSUB \r\n", "HPUB\r\n", "HPUB \r\n", "CONNECT\r\n", "CONNECT \r\n", "CONNECT", "INFO\r\n", "INFO \r\n", "INF", "+OKAY\r\n", "+O\r\n",
		"-ERR\r\n", "-ERR \r\n", "-ERR\t\r\n", "-", "MSG a 1 1\r\nx\r\n", "HMSG a 1 1 1\r\nx\r\n", "RS+ a\r\n", "LS+ a\r\n", "A+ a\r\n",
		"PIN\r\n", "PINGPONG\r\n", "P\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\x02\x00", "\x00", "\xff\xfe\r\n", " PING\r\n",
		"SUB "+strings.Repeat("a", g.IntN(6000)), "PUB "+strings.Repeat("b", g.IntN(6000))+crlf, "PUB a 999999999\r\n", "PUB a 9999999999\r\n",
	)
}

var (
	goodSubjects = []string{"a", "b", "a.b", "a.c", "a.b.c", "foo", "foo.bar", "x.y.z", "_INBOX.1", "_INBOX.r.2", "\xc3\xa4.b", "A.b", "foo*", "f>o", "a.*b"}
	patterns     = []string{"*", ">", "a.*", "a.>", "*.b", "a.*.c", "foo.>", "*.*", "_INBOX.*", "_INBOX.>", "*.>", "x.*.z"}
	badSubjects  = []string{
		"a..b", ".a", "a.", ".", "..", "a.>.b", ">.a", "a.>b.c", "**", ">>", "a.**", "\x00", "a\x01b", "\xff\xfe", "a\x0bb", "a\u0085b",
		"_GR_.x", "$GR.x", "$NRG.x", "_R_.x", "$JS.ACK.x", "_GR_", "$GR.", "$JS.API.x", "\"q\"", "a\\b", "a'b",
	}
)

func (g *generator) subject() string {
	switch g.pick(60, 12, 6, 2) {
	case 0:
		return g.from(goodSubjects...)
	case 1:
		return g.from(patterns...)
	case 2:
		return g.from(badSubjects...)
	default:
		return strings.Repeat(g.from("t.", "long", "x.y."), 1+g.IntN(24)) + "z"
	}
}

func (g *generator) pattern() string {
	switch g.pick(40, 40, 6, 1) {
	case 0:
		return g.from(goodSubjects...)
	case 1:
		return g.from(patterns...)
	case 2:
		return g.from(badSubjects...)
	default:
		return strings.Repeat("*.", 1+g.IntN(20)) + ">"
	}
}

// size is a number as a client may write it.
func (g *generator) size(n int) string {
	text := strconv.Itoa(n)
	switch g.pick(90, 3, 1, 2) {
	case 0:
		return text
	case 1:
		return strings.Repeat("0", g.IntN(9)) + text
	case 2:
		return strings.Repeat("0", max(0, 10-len(text)-g.IntN(2))) + text
	default:
		return g.from("x", "-1", "+"+text, text+".0", "0x1", text+"a", "1e1", strconv.Itoa(n+1), strconv.Itoa(max(0, n-1)), "24", "25", "1048577", "999999999", "99999999999999999999")
	}
}

func (g *generator) payload() string {
	g.unique++
	id := strconv.Itoa(g.unique)
	switch g.pick(50, 8, 8, 6, 4, 1) {
	case 0:
		return "m" + id
	case 1:
		return ""
	case 2:
		return "\r\n" + id + "\r\n"
	case 3:
		return "\x00\xff" + id
	case 4:
		return strings.Repeat("p", 18+g.IntN(8))
	default:
		return strings.Repeat("l"+id, g.IntN(3000))
	}
}

func (g *generator) publish(c *conn, headers bool) string {
	args := []string{g.subject()}
	if g.one(3) {
		args = append(args, g.subject())
	}
	if g.one(80) {
		args = append(args, "x", "y")[:g.IntN(len(args)+3)]
	}
	body, op := g.payload(), "PUB"
	if headers {
		op = "HPUB"
		block := g.from("NATS/1.0\r\n\r\n", "NATS/1.0\r\nA:b\r\n\r\n", "NATS/1.0\r\nA:b\r\nA: c\r\n\r\n", "", "x", "NATS/1.0\r\n", "\r\n\r\n", "NATS/1.0 503\r\n\r\n")
		body = block + body
		args = append(args, g.size(len(block)))
	}
	args = append(args, g.size(len(body)))
	end := crlf
	if g.one(60) {
		end = g.from("", "\n", "\r", "\rx", "xx", "\n\n", "\r\r\n", "y\r\n")
	}
	if c.rude && g.one(30) {
		body = body[:g.IntN(len(body)+1)]
	}
	return g.line(op, args...) + body + end
}

func (g *generator) subscribe(c *conn) string {
	args := []string{g.pattern()}
	sid := g.newSid(c)
	several := 0
	if g.setting.queues() {
		several = 3
	}
	switch g.pick(12, several, 3) {
	case 1: // a queue of several: its sid says so
		name := g.from("qa", "qb")
		sid = fmt.Sprintf("%s%s.%d%s", queueMark, name, c.id, sid)
		args = append(args, name)
	case 2: // a queue of one
		g.unique++
		args = append(args, g.from("solo", "_sys_", "*", "a.b", ">")+strconv.Itoa(g.unique))
	}
	if g.one(150) {
		args = append(args, "_sys_")
	}
	args = append(args, sid)
	if g.one(80) {
		args = args[:g.IntN(len(args))]
	}
	c.sids = append(c.sids, sid)
	return g.line("SUB", args...)
}

func (g *generator) newSid(c *conn) string {
	if len(c.sids) > 0 && g.one(12) {
		if old := g.from(c.sids...); !strings.HasPrefix(old, queueMark) {
			return old
		}
	}
	g.unique++
	return g.from("", "", "", "", "s-", "0", "x.>", "\xff") + strconv.Itoa(g.unique)
}

func (g *generator) unsubscribe(c *conn) string {
	sid := "99"
	if len(c.sids) > 0 && !g.one(8) {
		sid = g.from(c.sids...)
	}
	args := []string{sid}
	// With several members, chance would decide when the maximum is reached.
	if !g.one(3) && !strings.HasPrefix(sid, queueMark) {
		args = append(args, g.from("0", "1", "1", "2", "2", "3", "5", "01", "000000002", "0000000002", "-1", "x", "1x", "+1", "99999999999999999999"))
	}
	if g.one(80) {
		args = append(args, "1", "2")
	}
	return g.line("UNSUB", args...)
}
