package load_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"paddock/load"
)

// shy is a codec that no server lets in.
type shy struct{}

func (shy) Name() string                               { return "shy" }
func (shy) Thread(int, int) load.Thread                { return shy{} }
func (shy) Session() load.Session                      { return shy{} }
func (shy) Greet(dst []byte) []byte                    { return dst }
func (shy) Ready() bool                                { return false }
func (shy) Request(*load.Request) error                { panic("it is not ready") }
func (shy) End(*load.Answers) error                    { return nil }
func (shy) Receive([]byte, *load.Answers) (int, error) { return 0, errors.New("not you") }

// A connection that is not let in is tried again after longer and longer pauses, not as
// fast as the machine can.
func TestNotLetIn(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		for name, serves := range map[string]func(net.Conn){
			"refused": func(c net.Conn) { _, _ = c.Write([]byte{'n'}) },
			"closed":  func(net.Conn) {},
		} {
			plan := load.Plan{Address: serve(t, serves), Codec: shy{}, Duration: 300 * time.Millisecond, Grace: time.Millisecond, Engine: e}
			var n int64
			for try := 0; n < 2 && try < 10; try++ { // a busy machine may have no time for a second one
				r, err := load.Run(t.Context(), plan, nil)
				if err != nil {
					t.Fatal(err)
				}
				n = r.Total.Connects
			}
			if n < 2 || n > 6 { // after 10, 20, 40, 80 and 160 ms
				t.Errorf("%s: %d connections", name, n)
			}
		}
	})
}
