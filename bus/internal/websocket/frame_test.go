package websocket

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

// recorder is the output of a Reader.
type recorder struct {
	bytes bytes.Buffer
	pings []string
	end   string
	most  int
}

func (l *recorder) Data(b []byte) bool  { l.bytes.Write(b); return true }
func (l *recorder) Ping(payload []byte) { l.pings = append(l.pings, string(payload)) }
func (l *recorder) Limit() int          { return l.most }
func (l *recorder) Closed(code int, text string) {
	l.end = fmt.Sprintf("closed %d %q", code, text)
}

// run feeds input, split by cut, and notes its end.
func (l *recorder) run(r *Reader, input []byte, cut func(left int) int) *recorder {
	for len(input) > 0 {
		n := cut(len(input))
		part := bytes.Clone(input[:n]) // feed overwrites it
		input = input[n:]
		if err := r.Feed(part, l); err != nil {
			if broken, ok := errors.AsType[*Error](err); ok {
				l.end = broken.Error()
			}
			break
		}
	}
	return l
}

func (l *recorder) String() string { return fmt.Sprintf("%q %q %s", l.bytes.String(), l.pings, l.end) }

func whole(left int) int { return left }

// masked is a frame of a client's.
func masked(first byte, payload string) []byte {
	b := AppendFrame(nil, 0, []byte(payload))
	b[0] = first
	b[1] |= flagMasked
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
	const packedBinary = flagFinal | flagDeflated | opBinary
	large := strings.Repeat("0123456789", 7000)
	header64 := binary.BigEndian.AppendUint64([]byte{flagFinal | opBinary, flagMasked | length64}, 1<<63|5)
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"binary":                 {masked(flagFinal|opBinary, "PING\r\n"), `"PING\r\n" [] `},
		"text":                   {masked(flagFinal|opText, "PING\r\n"), `"PING\r\n" [] `},
		"empty":                  {inRow(masked(flagFinal|opBinary, ""), masked(flagFinal|opBinary, "a")), `"a" [] `},
		"16 bits":                {masked(flagFinal|opBinary, large[:300]), fmt.Sprintf("%q [] ", large[:300])},
		"64 bits":                {masked(flagFinal|opBinary, large), fmt.Sprintf("%q [] ", large)},
		"fragments":              {inRow(masked(opText, "PI"), masked(flagFinal|opPing, "x"), masked(0, "NG"), masked(flagFinal, "\r\n")), `"PING\r\n" ["x"] `},
		"pong":                   {masked(flagFinal|OpPong, "x"), `"" [] `},
		"deflated":               {masked(packedBinary, deflated("PING\r\nPONG\r\n")), `"PING\r\nPONG\r\n" [] `},
		"deflated in fragments":  {inRow(masked(flagDeflated|opText, deflated("PING")[:2]), masked(flagFinal|opPing, ""), masked(flagFinal, deflated("PING")[2:])), `"PING" [""] `},
		"deflated between":       {inRow(masked(flagFinal|opText, "a"), masked(packedBinary, deflated("b")), masked(flagFinal|opText, "c")), `"abc" [] `},
		"close":                  {inRow(masked(flagFinal|opText, "a"), masked(flagFinal|opClose, "\x03\xe8bye"), masked(flagFinal|opText, "b")), `"a" [] closed 1000 "bye"`},
		"close without a code":   {masked(flagFinal|opClose, ""), `"" [] closed 0 ""`},
		"close of 1 byte":        {masked(flagFinal|opClose, "x"), `"" [] websocket: 1002 close frame payload cannot be 1 byte`},
		"close, bad code":        {masked(flagFinal|opClose, "\x03\xed"), `"" [] websocket: 1002 invalid close status code 1005`},
		"close, bad text":        {masked(flagFinal|opClose, "\x03\xe8\xff"), `"" [] websocket: 1007 invalid utf8 body in close frame`},
		"not masked":             {AppendFrame(nil, opBinary, []byte("a")), `"" [] websocket: 1002 mask bit missing`},
		"RSV2":                   {masked(flagFinal|0x20|opText, "a"), `"" [] websocket: 1002 RSV2 and RSV3 must be clear`},
		"RSV1 of a continuation": {inRow(masked(opText, "a"), masked(flagFinal|flagDeflated, "a")), `"a" [] websocket: 1002 RSV1 must be clear`},
		"RSV1 of a ping":         {masked(flagFinal|flagDeflated|opPing, ""), `"" [] websocket: 1002 RSV1 must be clear`},
		"opcode":                 {masked(flagFinal|3, ""), `"" [] websocket: 1002 unknown opcode`},
		"control opcode":         {masked(flagFinal|11, ""), `"" [] websocket: 1002 unknown opcode`},
		"nothing to continue":    {masked(flagFinal, "a"), `"" [] websocket: 1002 nothing to continue`},
		"two messages":           {inRow(masked(opText, "a"), masked(flagFinal|opText, "b")), `"a" [] websocket: 1002 the message before has not ended`},
		"control in fragments":   {masked(opPing, "a"), `"" [] websocket: 1002 a control frame is short and in one piece`},
		"long control":           {masked(flagFinal|opPing, large[:126]), `"" [] websocket: 1002 a control frame is short and in one piece`},
		"length of 64 bits":      {inRow(header64, []byte("keyshello")), `"" [] websocket: 1002 invalid 64-bit payload length`},
		"bomb":                   {masked(packedBinary, deflated(strings.Repeat("\x00", 1<<20))), fmt.Sprintf("%q [] websocket: 1009 a deflated message is too big", strings.Repeat("\x00", 98304))},
		"packed bomb":            {masked(packedBinary, strings.Repeat("x", 100_001)), `"" [] websocket: 1009 a deflated message is too big`},
		"broken deflate":         {masked(packedBinary, "\xff\xff\xff"), `"" [] websocket: 1007 a deflated message is broken`},
	} {
		one := (&recorder{most: 100_000}).run(&Reader{Deflate: true}, tc.in, whole).String()
		if one != tc.want {
			t.Errorf("%s:\n got %.300s\nwant %.300s", name, one, tc.want)
		}
		bytewise := (&recorder{most: 100_000}).run(&Reader{Deflate: true}, tc.in, func(int) int { return 1 }).String()
		if bytewise != tc.want {
			t.Errorf("%s, byte by byte:\n got %.300s\nwant %.300s", name, bytewise, tc.want)
		}
	}
	if got := (&recorder{most: 100}).run(&Reader{}, masked(packedBinary, "a"), whole).end; got != "websocket: 1002 RSV1 must be clear" {
		t.Errorf("deflated without agreement: %s", got)
	}
}

// A reader of frames reads the frames that the server writes.
func TestWebSocketMessages(t *testing.T) {
	for _, n := range []int{0, 1, 64, 65, 125, 126, 1000, 65535, 65536} {
		payload := strings.Repeat("MSG a 1 5\r\nhello\r\n", n/18+1)[:n]
		for _, deflate := range []bool{false, true} {
			b := AppendMessage(nil, []byte(payload), deflate)
			if deflate && n > 1000 && len(b) > n/10 {
				t.Errorf("%d bytes are deflated to %d", n, len(b))
			}
			b[1] |= flagMasked // with a key of zeros it is a client's frame
			at := headerSize(b[1]) - 4
			b = append(b[:at:at], append(make([]byte, 4), b[at:]...)...)
			got := (&recorder{most: 1 << 20}).run(&Reader{Deflate: deflate}, b, whole)
			if got.bytes.String() != payload || got.end != "" {
				t.Errorf("%d bytes, deflate %v: %d bytes come, %s", n, deflate, got.bytes.Len(), got.end)
			}
		}
	}
	noise := make([]byte, 1000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	if b := AppendMessage(nil, noise, true); b[0] != flagFinal|opBinary {
		t.Errorf("what deflating makes larger is deflated: %x", b[0])
	}
}

// FuzzWebSocketReader: however the bytes are split, the same comes out; nothing is
// kept beyond the bounds; nothing panics.
func FuzzWebSocketReader(f *testing.F) {
	f.Add(masked(flagFinal|opBinary, "PING\r\n"), uint64(1))
	f.Add(inRow(masked(opText, "PI"), masked(flagFinal|opPing, "x"), masked(flagFinal, "NG\r\n")), uint64(2))
	f.Add(inRow(masked(flagFinal|flagDeflated|opBinary, deflated("CONNECT {}\r\nPING\r\n")), masked(flagFinal|opClose, "\x03\xe8bye")), uint64(3))
	f.Add(masked(flagFinal|flagDeflated|opBinary, deflated(strings.Repeat("\x00", 1<<16))), uint64(4))
	f.Add(binary.BigEndian.AppendUint64([]byte{flagFinal | opBinary, flagMasked | length64}, 1<<63), uint64(5))
	f.Add(binary.BigEndian.AppendUint64([]byte{opBinary, flagMasked | length64}, 1<<62), uint64(6))
	f.Add(masked(flagFinal|opClose, "\x03"), uint64(7))
	f.Fuzz(func(t *testing.T, input []byte, dice uint64) {
		const most = 1000
		once, split := &recorder{most: most}, &recorder{most: most}
		once.run(&Reader{Deflate: true}, input, whole)
		rnd := rand.New(rand.NewPCG(dice, 0))
		r := &Reader{Deflate: true}
		split.run(r, input, func(left int) int { return 1 + rnd.IntN(min(left, 40)) })
		if once.String() != split.String() {
			t.Errorf("at once %.500s\nsplit   %.500s", once, split)
		}
		if len(r.message) > most || len(r.control) > maxControl {
			t.Errorf("%d and %d bytes are kept", len(r.message), len(r.control))
		}
	})
}
