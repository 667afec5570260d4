package bus

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// wsLog is what came out of a wsReader.
type wsLog struct {
	bytes bytes.Buffer
	pings []string
	end   string
	most  int
}

func (l *wsLog) data(b []byte) bool  { l.bytes.Write(b); return true }
func (l *wsLog) ping(payload []byte) { l.pings = append(l.pings, string(payload)) }
func (l *wsLog) limit() int          { return l.most }
func (l *wsLog) closed(code int, text string) {
	l.end = fmt.Sprintf("closed %d %q", code, text)
}

// run feeds input, split by cut, and notes its end.
func (l *wsLog) run(r *wsReader, input []byte, cut func(left int) int) *wsLog {
	for len(input) > 0 {
		n := cut(len(input))
		part := bytes.Clone(input[:n]) // feed overwrites it
		input = input[n:]
		if err := r.feed(part, l); err != nil {
			if broken, ok := errors.AsType[*wsError](err); ok {
				l.end = broken.Error()
			}
			break
		}
	}
	return l
}

func (l *wsLog) String() string { return fmt.Sprintf("%q %q %s", l.bytes.String(), l.pings, l.end) }

func whole(left int) int { return left }

// masked is a frame of a client's.
func masked(first byte, payload string) []byte {
	b := appendFrame(nil, 0, []byte(payload))
	b[0] = first
	b[1] |= wsMasked
	key := [4]byte{0x11, 0x22, 0x33, 0x44}
	at := len(b) - len(payload)
	b = append(b[:at:at], key[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^key[i&3])
	}
	return b
}

// deflated is a message as permessage-deflate has it.
func deflated(payload string) string {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	w.Write([]byte(payload))
	w.Flush()
	return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
}

func inRow(list ...[]byte) []byte { return bytes.Join(list, nil) }

func TestWebSocketFrames(t *testing.T) {
	const packedBinary = wsFinal | wsDeflated | wsBinary
	large := strings.Repeat("0123456789", 7000)
	header64 := binary.BigEndian.AppendUint64([]byte{wsFinal | wsBinary, wsMasked | wsLength64}, 1<<63|5)
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"binary":                 {masked(wsFinal|wsBinary, "PING\r\n"), `"PING\r\n" [] `},
		"text":                   {masked(wsFinal|wsText, "PING\r\n"), `"PING\r\n" [] `},
		"empty":                  {inRow(masked(wsFinal|wsBinary, ""), masked(wsFinal|wsBinary, "a")), `"a" [] `},
		"16 bits":                {masked(wsFinal|wsBinary, large[:300]), fmt.Sprintf("%q [] ", large[:300])},
		"64 bits":                {masked(wsFinal|wsBinary, large), fmt.Sprintf("%q [] ", large)},
		"fragments":              {inRow(masked(wsText, "PI"), masked(wsFinal|wsPing, "x"), masked(0, "NG"), masked(wsFinal, "\r\n")), `"PING\r\n" ["x"] `},
		"pong":                   {masked(wsFinal|wsPong, "x"), `"" [] `},
		"deflated":               {masked(packedBinary, deflated("PING\r\nPONG\r\n")), `"PING\r\nPONG\r\n" [] `},
		"deflated in fragments":  {inRow(masked(wsDeflated|wsText, deflated("PING")[:2]), masked(wsFinal|wsPing, ""), masked(wsFinal, deflated("PING")[2:])), `"PING" [""] `},
		"deflated between":       {inRow(masked(wsFinal|wsText, "a"), masked(packedBinary, deflated("b")), masked(wsFinal|wsText, "c")), `"abc" [] `},
		"close":                  {inRow(masked(wsFinal|wsText, "a"), masked(wsFinal|wsClose, "\x03\xe8bye"), masked(wsFinal|wsText, "b")), `"a" [] closed 1000 "bye"`},
		"close without a code":   {masked(wsFinal|wsClose, ""), `"" [] closed 0 ""`},
		"close of 1 byte":        {masked(wsFinal|wsClose, "x"), `"" [] websocket: 1002 close frame payload cannot be 1 byte`},
		"close, bad code":        {masked(wsFinal|wsClose, "\x03\xed"), `"" [] websocket: 1002 invalid close status code 1005`},
		"close, bad text":        {masked(wsFinal|wsClose, "\x03\xe8\xff"), `"" [] websocket: 1007 invalid utf8 body in close frame`},
		"not masked":             {appendFrame(nil, wsBinary, []byte("a")), `"" [] websocket: 1002 mask bit missing`},
		"RSV2":                   {masked(wsFinal|0x20|wsText, "a"), `"" [] websocket: 1002 RSV2 and RSV3 must be clear`},
		"RSV1 of a continuation": {inRow(masked(wsText, "a"), masked(wsFinal|wsDeflated, "a")), `"a" [] websocket: 1002 RSV1 must be clear`},
		"RSV1 of a ping":         {masked(wsFinal|wsDeflated|wsPing, ""), `"" [] websocket: 1002 RSV1 must be clear`},
		"opcode":                 {masked(wsFinal|3, ""), `"" [] websocket: 1002 unknown opcode`},
		"control opcode":         {masked(wsFinal|11, ""), `"" [] websocket: 1002 unknown opcode`},
		"nothing to continue":    {masked(wsFinal, "a"), `"" [] websocket: 1002 nothing to continue`},
		"two messages":           {inRow(masked(wsText, "a"), masked(wsFinal|wsText, "b")), `"a" [] websocket: 1002 the message before has not ended`},
		"control in fragments":   {masked(wsPing, "a"), `"" [] websocket: 1002 a control frame is short and in one piece`},
		"long control":           {masked(wsFinal|wsPing, large[:126]), `"" [] websocket: 1002 a control frame is short and in one piece`},
		"length of 64 bits":      {inRow(header64, []byte("keyshello")), `"" [] websocket: 1002 invalid 64-bit payload length`},
		"bomb":                   {masked(packedBinary, deflated(strings.Repeat("\x00", 1<<20))), fmt.Sprintf("%q [] websocket: 1009 a deflated message is too big", strings.Repeat("\x00", 98304))},
		"packed bomb":            {masked(packedBinary, strings.Repeat("x", 100_001)), `"" [] websocket: 1009 a deflated message is too big`},
		"broken deflate":         {masked(packedBinary, "\xff\xff\xff"), `"" [] websocket: 1007 a deflated message is broken`},
	} {
		one := (&wsLog{most: 100_000}).run(&wsReader{deflate: true}, tc.in, whole).String()
		if one != tc.want {
			t.Errorf("%s:\n got %.300s\nwant %.300s", name, one, tc.want)
		}
		bytewise := (&wsLog{most: 100_000}).run(&wsReader{deflate: true}, tc.in, func(int) int { return 1 }).String()
		if bytewise != tc.want {
			t.Errorf("%s, byte by byte:\n got %.300s\nwant %.300s", name, bytewise, tc.want)
		}
	}
	if got := (&wsLog{most: 100}).run(&wsReader{}, masked(packedBinary, "a"), whole).end; got != "websocket: 1002 RSV1 must be clear" {
		t.Errorf("deflated without agreement: %s", got)
	}
}

// What the server writes, a reader of frames reads.
func TestWebSocketMessages(t *testing.T) {
	for _, n := range []int{0, 1, 64, 65, 125, 126, 1000, 65535, 65536} {
		payload := strings.Repeat("MSG a 1 5\r\nhello\r\n", n/18+1)[:n]
		for _, deflate := range []bool{false, true} {
			b := appendMessage(nil, []byte(payload), deflate)
			if deflate && n > 1000 && len(b) > n/10 {
				t.Errorf("%d bytes are deflated to %d", n, len(b))
			}
			b[1] |= wsMasked // with a key of zeros it is a client's frame
			at := headerSize(b[1]) - 4
			b = append(b[:at:at], append(make([]byte, 4), b[at:]...)...)
			got := (&wsLog{most: 1 << 20}).run(&wsReader{deflate: deflate}, b, whole)
			if got.bytes.String() != payload || got.end != "" {
				t.Errorf("%d bytes, deflate %v: %d bytes come, %s", n, deflate, got.bytes.Len(), got.end)
			}
		}
	}
	noise := make([]byte, 1000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	if b := appendMessage(nil, noise, true); b[0] != wsFinal|wsBinary {
		t.Errorf("what deflating makes larger is deflated: %x", b[0])
	}
}

// FuzzWebSocketReader: however the bytes are split, the same comes out; nothing is
// kept beyond the bounds; nothing panics.
func FuzzWebSocketReader(f *testing.F) {
	f.Add(masked(wsFinal|wsBinary, "PING\r\n"), uint64(1))
	f.Add(inRow(masked(wsText, "PI"), masked(wsFinal|wsPing, "x"), masked(wsFinal, "NG\r\n")), uint64(2))
	f.Add(inRow(masked(wsFinal|wsDeflated|wsBinary, deflated("CONNECT {}\r\nPING\r\n")), masked(wsFinal|wsClose, "\x03\xe8bye")), uint64(3))
	f.Add(masked(wsFinal|wsDeflated|wsBinary, deflated(strings.Repeat("\x00", 1<<16))), uint64(4))
	f.Add(binary.BigEndian.AppendUint64([]byte{wsFinal | wsBinary, wsMasked | wsLength64}, 1<<63), uint64(5))
	f.Add(binary.BigEndian.AppendUint64([]byte{wsBinary, wsMasked | wsLength64}, 1<<62), uint64(6))
	f.Add(masked(wsFinal|wsClose, "\x03"), uint64(7))
	f.Fuzz(func(t *testing.T, input []byte, dice uint64) {
		const most = 1000
		once, split := &wsLog{most: most}, &wsLog{most: most}
		once.run(&wsReader{deflate: true}, input, whole)
		rnd := rand.New(rand.NewPCG(dice, 0))
		r := &wsReader{deflate: true}
		split.run(r, input, func(left int) int { return 1 + rnd.IntN(min(left, 40)) })
		if once.String() != split.String() {
			t.Errorf("at once %.500s\nsplit   %.500s", once, split)
		}
		if len(r.message) > most || len(r.control) > wsMaxControl {
			t.Errorf("%d and %d bytes are kept", len(r.message), len(r.control))
		}
	})
}
